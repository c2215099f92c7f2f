package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

const (
	// learnTurns and learnBytes are how much one call of the model reads; more is
	// read in several.
	learnTurns = 16
	learnBytes = 24 << 10

	// ruleAfter is how long a model that fails is tried before the rules learn
	// instead (SPEC 3.4).
	ruleAfter = 10 * time.Minute

	// nearest is how many known facts each candidate is compared with (SPEC 3.6).
	nearest = 5
)

// runOf is the run that completes a job.
func runOf(job string) string { return "run-" + job }

// Learn is the handler of learn jobs: it learns from all turns of the job's
// conversation that were not learned from yet. Doing it again finds none left.
func (e *Engine) Learn(ctx context.Context, job memory.Job) (jobs.End, error) {
	defer e.learned.ring()
	e.lull.wait(ctx)
	if err := e.rests(ctx, job); err != nil {
		return "", err
	}
	if err := e.rebranch(ctx, job); err != nil {
		return "", err
	}
	turns, err := e.unlearned(ctx, job)
	if err != nil {
		return "", err
	}
	return e.learnAll(ctx, job, turns)
}

// learns reports whether anything learns: a model or the rules.
func (e *Engine) learns() bool { return e.LLM != nil || e.opts.Rules }

// learnAll learns from turns of one conversation, and completes the job.
func (e *Engine) learnAll(ctx context.Context, job memory.Job, turns []memory.Turn) (jobs.End, error) {
	if len(turns) == 0 || !e.learns() {
		e.Metrics.Learned("nothing")
		return jobs.Nothing, nil
	}
	chunks := inChunks(turns)
	for i, chunk := range chunks {
		run := memory.Run{ID: runOf(job.ID), Kind: "learn", Lease: &job.Lease}
		if i < len(chunks)-1 {
			run.ID, run.Lease = runOf(job.ID)+"-"+chunk[0].ID, nil
		}
		if err := e.learnFrom(ctx, job, chunk, run); err != nil {
			e.Metrics.Learned("failed")
			return "", err
		}
	}
	e.warm(job.Owner)
	return jobs.Applied, nil
}

// unlearned returns the turns to learn from: the user's and, where that is set,
// the assistant's answers to them.
func (e *Engine) unlearned(ctx context.Context, job memory.Job) ([]memory.Turn, error) {
	turns, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, Unlearned: true})
	if err != nil {
		return nil, fmt.Errorf("read turns: %w", err)
	}
	if !e.opts.Assistant || len(turns) == 0 && len(job.Turns) < 2 {
		return turns, nil
	}
	path, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation})
	if err != nil {
		return nil, fmt.Errorf("read the answers to turns: %w", err)
	}
	said := map[string]bool{}
	for _, t := range turns {
		said[t.ID] = true
	}
	var all []memory.Turn
	answers := false
	for _, t := range path {
		if t.Role == memory.RoleUser {
			answers = said[t.ID]
		}
		if said[t.ID] || (answers || slices.Contains(job.Turns, t.ID)) && t.Role == memory.RoleAssistant && t.Tells() && t.LearnedAt.IsZero() {
			all = append(all, t)
		}
	}
	return all, nil
}

// inChunks parts turns into pieces that one call of a model reads.
func inChunks(turns []memory.Turn) [][]memory.Turn {
	var out [][]memory.Turn
	size := 0
	for _, t := range turns {
		last := len(out) - 1
		if last < 0 || len(out[last]) == learnTurns || size+len(t.Content) > learnBytes || apart(out[last], t) {
			out, size = append(out, nil), 0
			last++
		}
		out[last] = append(out[last], t)
		size += len(t.Content)
	}
	return out
}

// apart reports whether a turn must not be learned from together with those before
// it: it is of another project, or asks to forget what they may teach.
func apart(before []memory.Turn, t memory.Turn) bool {
	if t.Project != before[0].Project || t.Agent != before[0].Agent {
		return true
	}
	_, forget := learn.Commands([]learn.Said{{Turn: t, Text: t.Content}})
	return len(forget) > 0
}

// learnFrom takes one chunk of turns all the way to the store.
func (e *Engine) learnFrom(ctx context.Context, job memory.Job, turns []memory.Turn, run memory.Run) error {
	for _, t := range turns {
		run.Learned = append(run.Learned, t.ID)
	}
	l, err := e.lesson(ctx, job, turns)
	if err != nil {
		return err
	}
	for i, wish := range l.forget {
		if err := e.forgetWish(ctx, l.scope, fmt.Sprintf("%s-forget-%d", run.ID, i), wish); err != nil {
			return err
		}
	}
	run.Author = l.author
	run.Jobs = []memory.Job{e.upkeepJob(job.Owner, run.ID)}
	return e.apply(ctx, l, run)
}

// apply compares what a lesson says with what is known and applies what follows.
// When another run was quicker it compares again.
func (e *Engine) apply(ctx context.Context, l lesson, run memory.Run) error {
	for try := 1; ; try++ {
		changes, outcomes, err := e.plan(ctx, l)
		if err != nil {
			return err
		}
		attempt := run
		if attempt.Vectors, err = e.factVectors(ctx, changes); err != nil {
			return err
		}
		_, err = e.Store.Apply(ctx, l.scope.Owner, attempt, changes...)
		if err == nil {
			e.decided(ctx, l, outcomes)
			return nil
		}
		if !errors.Is(err, memory.Conflict) && !errors.Is(err, memory.Duplicate) || try == maxConflicts {
			return fmt.Errorf("apply what was learned: %w", err)
		}
	}
}

// plan returns what a lesson changes, and what becomes of each of its statements.
func (e *Engine) plan(ctx context.Context, l lesson) ([]memory.Change, []learn.Outcome, error) {
	cands := slices.Clone(l.cands)
	for i := range cands {
		near, err := e.near(ctx, l.scope, cands[i])
		if err != nil {
			return nil, nil, err
		}
		cands[i].Near = near
	}
	fresh, again, dropped := learn.Dedupe(cands, learn.DedupeOptions{Scope: l.scope})
	decisions := e.decisions(ctx, l, fresh)
	changes, outcomes := learn.Plan(fresh, decisions, again, learn.PlanOptions{
		Now: e.now(), NewID: newID, Scope: l.scope, Author: l.author,
		MinConfidence: e.opts.Learn.Review.Confidence, Review: e.opts.Learn.Review.Categories,
		Free: func(words string) bool { return e.free(ctx, l.scope, words) },
	})
	for _, d := range dropped {
		outcomes = append(outcomes, learn.Outcome{Fact: d.Candidate.Text, Action: "ignore", Reason: d.Reason})
	}
	return changes, outcomes, nil
}

// free reports whether no live fact of the scope has these words. Where that
// cannot be known they are taken.
func (e *Engine) free(ctx context.Context, scope memory.Scope, words string) bool {
	_, err := e.twin(ctx, memory.Fact{Scope: scope, Hash: text.Hash(words)})
	return errors.Is(err, memory.Conflict)
}

// decisions asks the model what the candidates do to what is near them; the rules
// decide where there is no model, nothing near, or no readable reply.
func (e *Engine) decisions(ctx context.Context, l lesson, cands []learn.Candidate) []learn.Decision {
	near := slices.ContainsFunc(cands, func(c learn.Candidate) bool { return len(c.Near) > 0 })
	if e.LLM == nil || l.author.Kind != memory.ByModel || !near {
		return learn.Reconcile(cands)
	}
	ask, err := learn.AskDecisions(cands, e.Prompts)
	if err == nil {
		var decisions []learn.Decision
		decisions, _, err = askFor(ctx, e, l.scope.Owner, ask, func(reply string) ([]learn.Decision, error) { return learn.ParseDecisions(reply, cands) })
		if err == nil {
			return decisions
		}
	}
	e.Log.Warn("the rules reconcile, since the model could not", "err", err)
	return learn.Reconcile(cands)
}

// rewords are the actions after which a fact may have other words than before.
var rewords = map[memory.Action]bool{memory.ActionAdd: true, memory.ActionUpdate: true, memory.ActionUndo: true}

// factVectors embeds the facts that changes add or reword.
func (e *Engine) factVectors(ctx context.Context, changes []memory.Change) ([]memory.Vector, error) {
	var out []memory.Vector
	for _, c := range changes {
		if c.After.Fact == nil || !c.After.Fact.Status.Live() || !rewords[c.Action] {
			continue
		}
		v, err := e.vectors(ctx, c.After.Fact.ID, c.After.Fact.Content)
		if err != nil {
			return nil, fmt.Errorf("embed facts: %w", err)
		}
		out = append(out, v...)
	}
	return out, nil
}

// decided logs and counts what a run decided (seed 3's memory_decision).
func (e *Engine) decided(ctx context.Context, l lesson, outcomes []learn.Outcome) {
	outcomes = append(outcomes, l.passedOver()...)
	line := obs.MemoryDecision{UserID: l.scope.Owner.Name(), ExtractedCount: len(outcomes)}
	for _, s := range l.said {
		line.InputMessageLength += len(s.Text)
	}
	for _, o := range outcomes {
		d := obs.Decision{Fact: o.Fact, Action: o.Action, TargetID: o.Target, Reason: o.Reason}
		if o.Action == "reinforce" { // seed 3's word for it, whatever it does to the known fact
			d.Action, d.Reason = "ignore", obs.Redundant
		}
		line.Decisions = append(line.Decisions, d)
	}
	line.Log(ctx, e.Log)
	e.Metrics.Decided(line)
	e.Metrics.Learned("applied")
}
