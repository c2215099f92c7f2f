package lessons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

const (
	// maxChunkTurns and maxChunkBytes bound the turns of one model call.
	learnTurns = 16
	learnBytes = 24 << 10

	// maxModelAttempts is the number of attempts of a failing model before the rules learn instead:
	// all but the last, which takes more than ten minutes. A job's age is no criterion, since the job
	// may have waited in the queue.
	modelAttempts = memory.MaxAttempts - 1

	// maxHalvings bounds how often a failed attempt halves the input of a call to a slow model.
	halvings = 2

	// maxSimilar is the number of similar facts with which each candidate is compared.
	nearest = 5
)

// Learn handles learn jobs. It learns from all turns of the job's conversation that were not learned from
// yet. It is idempotent.
func (e *Learner) Learn(ctx context.Context, job memory.Job) (jobs.End, error) {
	defer e.Taught.Ring()
	e.Idle.Wait(ctx)
	if err := e.putOffUntilIdle(ctx, job); err != nil {
		return "", err
	}
	e.Curate.Credit(ctx, job.Owner, curate.UsesAtOnce)
	if strings.HasPrefix(job.ID, ForgetPrefix) {
		return e.forgetOnly(ctx, job)
	}
	if err := (branches{e}).rebranch(ctx, job); err != nil {
		return "", err
	}
	turns, err := e.Unlearned(ctx, job)
	if err != nil {
		return "", err
	}
	return e.learnAll(ctx, job, turns)
}

// CanLearn reports whether a model or rules are configured to learn.
func (e *Learner) Learns() bool { return e.LLM != nil || e.Opts.Rules }

// learnFromTurns learns from turns of one conversation, and completes the job.
func (e *Learner) learnAll(ctx context.Context, job memory.Job, turns []memory.Turn) (jobs.End, error) {
	if len(turns) == 0 || !e.Learns() {
		e.Metrics.Learned("nothing")
		return jobs.Nothing, nil
	}
	chunks := InChunks(turns, job.Attempts)
	for i, chunk := range chunks {
		run := memory.Run{ID: core.RunOf(job.ID), Kind: "learn", Lease: &job.Lease}
		if i < len(chunks)-1 {
			run.ID, run.Lease = core.RunOf(job.ID)+"-"+chunk[0].ID, nil
		}
		if err := e.LearnFrom(ctx, job, chunk, run); err != nil {
			e.Metrics.Learned("failed")
			return "", err
		}
	}
	e.Taught.Ring() // waiting callers need no more
	e.Warm(job.Owner)
	return jobs.Applied, nil
}

// UnlearnedTurns returns the user's turns to learn from and, if configured, the answers to them.
func (e *Learner) Unlearned(ctx context.Context, job memory.Job) ([]memory.Turn, error) {
	turns, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, Unlearned: true})
	if err != nil {
		return nil, fmt.Errorf("read turns: %w", err)
	}
	if !e.Opts.Assistant || len(turns) == 0 && len(job.Turns) < 2 {
		return turns, nil
	}
	path, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation})
	if err != nil {
		return nil, fmt.Errorf("read the answers to turns: %w", err)
	}
	current := map[string]bool{}
	for _, t := range turns {
		current[t.ID] = true
	}
	var all []memory.Turn
	answers := false
	for _, t := range path {
		if t.Role == memory.RoleUser {
			answers = current[t.ID]
		}
		if current[t.ID] || (answers || slices.Contains(job.Turns, t.ID)) && t.Role == memory.RoleAssistant && t.Tells() && t.LearnedAt.IsZero() {
			all = append(all, t)
		}
	}
	return all, nil
}

// SplitIntoChunks splits turns into inputs of model calls. Each failed attempt halves the maximum size.
func InChunks(turns []memory.Turn, failed int) [][]memory.Turn {
	most := max(1, min(len(turns), learnTurns)>>min(failed, halvings))
	var out [][]memory.Turn
	size := 0
	for _, t := range turns {
		last := len(out) - 1
		if last < 0 || len(out[last]) == most || size+len(t.Content) > learnBytes || startsChunk(out[last], t) {
			out, size = append(out, nil), 0
			last++
		}
		out[last] = append(out[last], t)
		size += len(t.Content)
	}
	return out
}

// startsChunk reports whether a turn starts a new chunk: it has another project or agent than the turns
// before it, or it asks to forget facts that may be learned from these turns.
func startsChunk(before []memory.Turn, t memory.Turn) bool {
	return t.Project != before[0].Project || t.Agent != before[0].Agent || len(learn.MemoryRequestsIn(t).Forget) > 0
}

// LearnFrom learns from one chunk of turns and stores the result. The same run retires the memories that
// the turns ask to forget.
func (e *Learner) LearnFrom(ctx context.Context, job memory.Job, turns []memory.Turn, run memory.Run) error {
	for _, t := range turns {
		run.Learned = append(run.Learned, t.ID)
	}
	l, err := e.Lesson(ctx, job, turns)
	if err != nil {
		return err
	}
	run.Author = l.author
	return e.apply(ctx, job, l, run)
}

// applyLesson compares a lesson with stored facts and applies the changes, again after each conflict.
func (e *Learner) apply(ctx context.Context, job memory.Job, l Lesson, run memory.Run) error {
	for try := 1; ; try++ {
		p, err := e.Plan(ctx, l, run.ID)
		if err != nil {
			return err
		}
		attempt := run
		attempt.Learned = slices.Concat(run.Learned, p.repeats)
		attempt.Jobs = append(p.jobs, e.UpkeepJobs(job.Owner, run.ID, job.Conversation)...)
		if attempt.Vectors, err = e.FactVectors(ctx, p.Changes); err != nil {
			return err
		}
		receipt, err := e.commit(ctx, job, p, attempt)
		if err == nil {
			if !receipt.Again { // otherwise this run was counted before
				e.logDecisions(ctx, l, p.Outcomes)
			}
			return nil
		}
		if !errors.Is(err, memory.Conflict) && !errors.Is(err, memory.Duplicate) || try == core.MaxConflicts {
			return fmt.Errorf("apply learned facts: %w", err)
		}
	}
}

// commitPlan applies a plan. It returns [memory.Conflict] if the compared facts have changed, and
// [memory.LeaseLost] if another worker runs the job.
func (e *Learner) commit(ctx context.Context, job memory.Job, p planned, run memory.Run) (memory.Receipt, error) {
	version, err := e.checkUnchanged(ctx, job.Owner, p, slices.Concat(run.Learned, p.turns))
	if err != nil {
		return memory.Receipt{}, err
	}
	if run.Lease == nil {
		if err := e.HoldLease(ctx, job); err != nil {
			return memory.Receipt{}, err
		}
	}
	if len(p.Changes) > 0 {
		run.Base = version
	}
	return e.Store.Apply(ctx, job.Owner, run, p.Changes...)
}

// HoldLease extends a job's lease for a transaction that does not complete the job, or returns
// [memory.LeaseLost]. It does nothing for a job that was never claimed.
func (e *Learner) HoldLease(ctx context.Context, job memory.Job) error {
	if job.Lease == (memory.Lease{}) {
		return nil
	}
	if _, err := e.Store.Extend(ctx, job.Lease, jobs.DefaultLease); err != nil {
		return fmt.Errorf("extend the lease: %w", err)
	}
	return nil
}

// lessonPlan contains the changes of a lesson and the outcome of each candidate.
type planned struct {
	scope     memory.Scope
	turns     []string            // ids of the lesson's turns
	version   int64               // the owner's version before comparing
	cands     []extract.Candidate // candidates with their neighbors
	Forgotten []memory.Memory     // memories that the lesson asks to forget
	gone      map[string]bool     // ids of Forgotten
	Changes   []memory.Change
	Outcomes  []learn.Outcome
	jobs      []memory.Job
	repeats   []string // ids of answers that repeat replaced facts
}

// PlanLesson compares a lesson with stored facts.
func (e *Learner) Plan(ctx context.Context, l Lesson, run string) (planned, error) {
	p := planned{scope: l.scope, cands: slices.Clone(l.cands), gone: map[string]bool{}}
	for _, s := range l.utterances {
		p.turns = append(p.turns, s.Turn.ID)
	}
	var err error
	if p.version, err = e.Version(ctx, l.scope.Owner); err != nil {
		return planned{}, err
	}
	if err := e.planForgetting(ctx, l, run, &p); err != nil {
		return planned{}, err
	}
	near, err := reader{e}.neighbors(ctx, l.scope, p.version, p.cands, p.gone)
	if err != nil {
		return planned{}, err
	}
	for i := range p.cands {
		p.cands[i].Near = near[i]
	}
	fresh, again, dropped := learn.Dedupe(p.cands, learn.DedupeOptions{Scope: l.scope, Near: e.Retrieve.DuplicateScore()})
	decisions := e.decisions(ctx, l, fresh)
	changes, outcomes := learn.Plan(fresh, decisions, again, learn.PlanOptions{
		Now: e.Time(), NewID: core.NewID, Scope: l.scope, Author: l.author,
		MinConfidence: e.Opts.Learn.Review.Confidence, Review: e.Opts.Learn.Review.Categories,
		ReviewConflicts: e.Opts.Learn.Review.Conflicts,
		Free:            func(scope memory.Scope, words string) bool { return e.Curate.Free(ctx, scope, words) },
	})
	p.repeats = e.Retrieve.Repeats(memory.WithVersion(ctx, l.scope.Owner, p.version), changes)
	p.Changes, p.Outcomes = append(p.Changes, changes...), outcomes
	current := slices.Clone(p.Changes)
	for _, c := range p.cands {
		for _, n := range c.Near { // facts that the candidate repeats
			if !c.RememberRequested && n.Link == nil && n.Fact.Status != memory.Active && text.Hash(n.Fact.Content) == text.Hash(c.Text) {
				current = append(current, memory.Change{Action: memory.ActionReject, After: memory.Image{Fact: &n.Fact}})
			}
		}
	}
	more, after, err := e.Curate.Gate(ctx, l.scope.Owner, run, current, l.author)
	if err != nil {
		return planned{}, err
	}
	p.Changes, p.jobs = append(p.Changes, more...), append(p.jobs, after...)
	for _, d := range dropped {
		p.Outcomes = append(p.Outcomes, learn.Outcome{Fact: d.Candidate.Text, Action: "ignore", Reason: d.Reason})
	}
	return p, nil
}

// checkUnchanged returns the version at which the plan is valid. It returns [memory.Conflict] if another
// run wrote a fact that the plan should have been compared with, since both runs would add contradicting
// facts. It returns [memory.Unavailable] if a turn was forgotten or edited after it was read; the job is
// then retried.
func (e *Learner) checkUnchanged(ctx context.Context, owner memory.Owner, p planned, turns []string) (version int64, err error) {
	now, err := memory.LookAt(ctx, e.Store, owner, memory.Look{IDs: turns}) // later reads return this version or a newer one
	if err != nil {
		return 0, fmt.Errorf("read the turns again: %w", err)
	}
	for _, m := range now.Memories {
		if m.Turn != nil && m.Turn.Status != memory.Active {
			return 0, memory.Errorf(memory.Unavailable, "turn %s became %s after it was read", m.ID(), m.Turn.Status)
		}
	}
	if now.Version == p.version {
		return now.Version, nil
	}
	near, err := reader{e}.neighbors(ctx, p.scope, now.Version, p.cands, p.gone)
	if err != nil {
		return 0, err
	}
	for i, c := range p.cands {
		if !sameNear(near[i], c.Near) {
			return 0, memory.Errorf(memory.Conflict, "the facts similar to candidate %d have changed", i+1)
		}
	}
	return now.Version, nil
}

// sameNeighbors reports whether two searches returned the same facts at the same versions.
func sameNear(a, b []extract.Neighbour) bool {
	state := map[string]int64{}
	for _, n := range a {
		state[n.Fact.ID] = n.Fact.Version
	}
	for _, n := range b {
		if v, ok := state[n.Fact.ID]; !ok || v != n.Fact.Version {
			return false
		}
	}
	return len(a) == len(b)
}

// decisions returns the effect of each candidate on its neighbors: from the model's reply or, if the
// prompt asks only for facts, from a second reply. The rules decide without a model, without neighbors
// and after an unreadable reply.
func (e *Learner) decisions(ctx context.Context, l Lesson, cands []extract.Candidate) []learn.Decision {
	asked := slices.ContainsFunc(cands, func(c extract.Candidate) bool { return len(c.Near) > 0 && c.Op == "" && !c.RememberRequested })
	if e.LLM == nil || l.author.Kind != memory.ByModel || !asked {
		return learn.Reconcile(cands)
	}
	ask := e.askForDecisions
	if e.Prompts.Form() == prompt.InMemories {
		ask = e.askOneByOne
	}
	decisions, err := ask(ctx, l.scope.Owner, cands)
	if err != nil {
		e.Log.Warn("the model could not reconcile facts; the rules do it", "err", err)
		return learn.Reconcile(cands)
	}
	return decisions
}

func (e *Learner) askForDecisions(ctx context.Context, owner memory.Owner, cands []extract.Candidate) ([]learn.Decision, error) {
	ask, err := learn.AskDecisions(cands, e.learnPrompts(owner))
	if err != nil {
		return nil, err
	}
	decisions, _, err := askFor(ctx, &e.Asker, owner, ask, func(reply string) ([]learn.Decision, error) { return learn.ParseDecisions(reply, cands) })
	return decisions, err
}

// askOneByOne asks about each candidate with neighbors separately, since the prompt compares one new fact
// with stored facts. Candidates without neighbors are new facts.
func (e *Learner) askOneByOne(ctx context.Context, owner memory.Owner, cands []extract.Candidate) ([]learn.Decision, error) {
	var out []learn.Decision
	for i, c := range cands {
		if !slices.ContainsFunc(c.Near, func(n extract.Neighbour) bool { return n.Fact.Status.Live() }) {
			out = append(out, learn.Decision{Candidate: i, Verdict: learn.Add})
			continue
		}
		decisions, err := e.askForDecisions(ctx, owner, cands[i:i+1])
		if err != nil {
			return nil, err
		}
		for _, d := range decisions {
			d.Candidate = i
			out = append(out, d)
		}
	}
	return out, nil
}

// logDecisions logs and counts a run's decisions (memory_decision of design 3). Without LogContent it logs
// ids of stored facts instead of texts, and omits a model's reasons.
func (e *Learner) logDecisions(ctx context.Context, l Lesson, outcomes []learn.Outcome) {
	outcomes = append(outcomes, l.DroppedOutcomes()...)
	line := obs.MemoryDecision{UserID: l.scope.Owner.Name(), ExtractedCount: len(outcomes)}
	for _, s := range l.utterances {
		line.InputMessageLength += len(s.Text)
	}
	for _, o := range outcomes {
		d := obs.Decision{Fact: o.Fact, Action: o.Action, TargetID: o.Target, Reason: o.Reason}
		if o.Action == "reinforce" { // the term of design 3, even if the stored fact changes
			d.Action, d.Reason = "ignore", obs.Redundant
		}
		if !e.Opts.LogContent {
			d.Fact = o.ID
			if d.Reason != obs.Redundant {
				d.Reason = ""
			}
		}
		line.Decisions = append(line.Decisions, d)
	}
	line.Log(ctx, e.Log)
	e.Metrics.Decided(line)
	e.Metrics.Learned("applied")
}
