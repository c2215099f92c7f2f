package lessons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// RelearnOptions says which turns are to be learned from again: the user's of a
// conversation, or of all, said since a time. It is how facts that rules learned
// while a model was away are learned by the model.
type RelearnOptions struct {
	Conversation string
	Since        time.Time
	Idempotency  string // the same key again queues nothing new
}

// relearnAtOnce is how many turns one job learns from.
const relearnAtOnce = 200

// Relearn queues the learning and returns how many turns it is about. What is known
// already is said again by it; what was forgotten, undone or rejected stays so.
func (e *Learner) Relearn(ctx context.Context, owner memory.Owner, r RelearnOptions) (int, error) {
	if !e.Learns() {
		return 0, memory.Errorf(memory.Invalid, "nothing learns: learn.model is empty and learn.rules is off")
	}
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: r.Conversation})
	if err != nil {
		return 0, fmt.Errorf("read turns: %w", err)
	}
	run := memory.Run{ID: core.IDFor(owner, r.Idempotency), Kind: "relearn"}
	count := 0
	for _, t := range turns {
		if t.Role != memory.RoleUser || t.NoLearn || t.CreatedAt.Before(r.Since) {
			continue
		}
		count++
		last := len(run.Jobs) - 1
		if last < 0 || run.Jobs[last].Conversation != t.Conversation || len(run.Jobs[last].Turns) == relearnAtOnce {
			run.Jobs = append(run.Jobs, memory.Job{
				ID: run.ID + "-" + t.ID, Owner: owner, Kind: memory.JobRelearn, Conversation: t.Conversation,
			})
			last++
		}
		run.Jobs[last].Turns = append(run.Jobs[last].Turns, t.ID)
	}
	if count == 0 {
		return 0, nil
	}
	if _, err := e.Store.Apply(ctx, owner, run); err != nil {
		return 0, fmt.Errorf("queue the learning: %w", err)
	}
	e.Wake()
	return count, nil
}

// LearnAgain is the handler of relearn jobs.
func (e *Learner) LearnAgain(ctx context.Context, job memory.Job) (jobs.End, error) {
	defer e.Taught.Ring()
	e.Idle.Wait(ctx)
	turns, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, IDs: job.Turns})
	if err != nil {
		return "", fmt.Errorf("read turns: %w", err)
	}
	return e.learnAll(ctx, job, turns)
}

// RejudgeRequest says how to judge anew what waits because a check found that its turn
// does not say it.
type RejudgeRequest struct {
	DryRun      bool // change nothing
	Idempotency string
}

// Rejudged is a fact that need not wait any longer, as it is then, and what it replaces.
type Rejudged struct {
	Fact     memory.Fact
	Replaces []memory.Fact
}

// mostRejudged bounds one run, which is undone as a whole.
const mostRejudged = 500

// Rejudge makes those facts active that wait for want of proof and that [learn.Ground] does
// not refute, in one run that can be undone. What waits for another reason, and what
// something newer contradicts, keeps waiting.
func (e *Learner) Rejudge(ctx context.Context, owner memory.Owner, in RejudgeRequest, author memory.Author) ([]Rejudged, memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	run := memory.Run{ID: core.IDFor(owner, in.Idempotency), Kind: "rejudge", Author: author}
	leave, err := e.Curate.Compare.Deciding(ctx, owner)
	if err != nil {
		return nil, memory.Receipt{}, err
	}
	defer leave()
	for try := 1; ; try++ {
		version, err := e.Version(ctx, owner)
		if err != nil {
			return nil, memory.Receipt{}, err
		}
		run.Base = memory.PlannedOn(version)
		out, changes, err := e.rejudge(ctx, owner, author)
		if err != nil || in.DryRun || len(changes) == 0 {
			return out, memory.Receipt{}, err
		}
		receipt, err := e.Store.Apply(ctx, owner, run, changes...)
		if err == nil || !errors.Is(err, memory.Conflict) || try == core.MaxConflicts {
			return out, receipt, err
		}
	}
}

func (e *Learner) rejudge(ctx context.Context, owner memory.Owner, author memory.Author) (out []Rejudged, changes []memory.Change, err error) {
	var waiting []memory.Fact
	if err := e.Everything(ctx, owner, memory.Query{Statuses: []memory.Status{memory.Pending}}, func(m memory.Memory) {
		if m.Link == nil && len(waiting) < mostRejudged {
			waiting = append(waiting, *m.Fact)
		}
	}); err != nil {
		return nil, nil, fmt.Errorf("list what waits: %w", err)
	}
	slices.SortFunc(waiting, func(a, b memory.Fact) int { // what was said first comes first
		if b.Newer(&a) {
			return -1
		}
		return 1
	})
	ended := map[string]bool{}
	var approvals []memory.Change
	for i := range waiting {
		f := waiting[i]
		why, err := e.Curate.Compare.Proposed(ctx, owner, memory.Memory{Fact: &f})
		if err != nil {
			return nil, nil, err
		}
		if !learn.WaitsForProof(why.Reason) {
			continue
		}
		g, ok, err := e.groundAgain(ctx, owner, f)
		if err != nil {
			return nil, nil, err
		}
		if !ok || g.Grade == learn.Refuted {
			continue
		}
		olds, err := e.Curate.Compare.Conflicts(ctx, f, why.OldID)
		if err != nil {
			return nil, nil, err
		}
		if slices.ContainsFunc(olds, func(old memory.Fact) bool {
			return !f.Newer(&old) || old.Pinned() || old.Source == memory.Manual || old.Trust == memory.TrustPerson
		}) {
			continue
		}
		olds = slices.DeleteFunc(olds, func(old memory.Fact) bool { return ended[old.ID] })
		f.Status, f.UpdatedAt = memory.Active, e.Time()
		if g.Grade == learn.Unproven {
			f.Confidence = min(f.Confidence, learn.UnprovenConfidence)
		}
		change := memory.Change{Action: memory.ActionApprove, After: memory.Image{Fact: &f}, Base: f.Version, Author: author, Reason: "judged anew"}
		for _, old := range olds {
			ended[old.ID] = true
			changes = append(changes, memory.Replace(old, f, e.Time(), "judged anew", author)[0])
			change.OldID, change.NewID = old.ID, f.ID
		}
		approvals = append(approvals, change)
		out = append(out, Rejudged{Fact: f, Replaces: olds})
	}
	return out, append(changes, approvals...), nil
}

// groundAgain grounds a fact in the turn that it is from; ok is false if that is gone.
func (e *Learner) groundAgain(ctx context.Context, owner memory.Owner, f memory.Fact) (g learn.Grounding, ok bool, err error) {
	turn, err := e.Curate.Source(ctx, f)
	if err != nil || turn == nil || turn.Status != memory.Active {
		return learn.Grounding{}, false, err
	}
	said := learn.Guard([]memory.Turn{*turn}, learn.GuardOptions{Assistant: true, Personal: e.Opts.Learn.Personal, Begin: recall.FenceOpen, End: recall.FenceClose})
	if len(said) == 0 {
		return learn.Grounding{}, false, nil
	}
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: turn.Conversation})
	if err != nil {
		return learn.Grounding{}, false, fmt.Errorf("read what was said before: %w", err)
	}
	known, err := reader{e}.nearClauses(ctx, f.Scope, said)
	if err != nil {
		return learn.Grounding{}, false, err
	}
	reader{e}.ground(owner, said, known, turns)
	if n := len(said[0].Earlier); n > 0 {
		said[0].Before = said[0].Earlier[n-1]
	}
	quote := ""
	if q := f.Provenance.Quote; q != nil && q.End <= len(said[0].Text) && q.Start < q.End {
		quote = said[0].Text[q.Start:q.End]
	}
	return learn.Ground(learn.Claim{Text: f.Content, Quote: quote, About: f.Subject}, said[0]), true, nil
}
