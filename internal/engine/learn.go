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
	"github.com/loci-memory/loci/internal/recall"
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
	e.lull.wait(ctx)
	turns, err := e.unlearned(ctx, job)
	if err != nil {
		return "", err
	}
	if len(turns) == 0 || (e.LLM == nil && !e.opts.Rules) {
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
	if !e.opts.Assistant || len(turns) == 0 {
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
		if said[t.ID] || answers && t.Role == memory.RoleAssistant && t.Tells() && t.LearnedAt.IsZero() {
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
	said := learn.Guard(turns, learn.GuardOptions{
		Assistant: e.opts.Assistant,
		Begin:     recall.FenceOpen,
		End:       recall.FenceClose,
		Given:     e.given(job.Owner, turns),
	})
	scope := memory.Scope{Owner: job.Owner, Project: turns[0].Project, Agent: turns[0].Agent}
	cands, author, err := e.extract(ctx, job, scope, said)
	if err != nil {
		return err
	}
	remember, forget := learn.Commands(said)
	for i, wish := range forget {
		if err := e.forgetWish(ctx, scope, fmt.Sprintf("%s-forget-%d", run.ID, i), wish); err != nil {
			return err
		}
	}
	cands, dropped := learn.Filter(append(cands, remember...), said)
	run.Author = author
	return e.reconcile(ctx, scope, run, cands, dropped, said)
}

// given recognises what these turns' requests were given from memory.
func (e *Engine) given(owner memory.Owner, turns []memory.Turn) *learn.Given {
	var texts []string
	for _, t := range turns {
		if b, ok := e.blocks.get(owner, t.Chain); ok {
			texts = append(texts, b.text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return learn.NewGiven(texts...)
}

// extract asks the model for candidates or, without one, the rules.
func (e *Engine) extract(ctx context.Context, job memory.Job, scope memory.Scope, said []learn.Said) ([]learn.Candidate, memory.Author, error) {
	byRule := memory.Author{Kind: memory.ByRule, Name: "rules"}
	if len(said) == 0 {
		return nil, byRule, nil
	}
	if e.LLM == nil {
		return learn.Rules(said), byRule, nil
	}
	cands, author, err := e.extractByModel(ctx, scope, said)
	if err == nil {
		return cands, author, nil
	}
	if e.opts.Rules && e.now().Sub(job.CreatedAt) >= ruleAfter {
		e.Log.Warn("the model keeps failing; the rules learn instead", "job", job.ID, "err", err)
		return learn.Rules(said), byRule, nil
	}
	return nil, memory.Author{}, err
}

func (e *Engine) extractByModel(ctx context.Context, scope memory.Scope, said []learn.Said) ([]learn.Candidate, memory.Author, error) {
	var words string
	for _, s := range said {
		words += s.Text + "\n"
	}
	known, err := e.neighbours(ctx, scope, words, 8)
	if err != nil {
		return nil, memory.Author{}, err
	}
	facts := make([]memory.Fact, 0, len(known))
	for _, n := range known {
		facts = append(facts, n.Fact)
	}
	ask, err := learn.AskFacts(said, facts, e.Prompts, e.now())
	if err != nil {
		return nil, memory.Author{}, fmt.Errorf("fill the extraction prompt: %w", err)
	}
	ask.Model = e.opts.LearnModel
	reply, err := e.LLM.Complete(ctx, ask)
	if err != nil {
		return nil, memory.Author{}, fmt.Errorf("ask for facts: %w", err)
	}
	cands, err := learn.ParseFacts(reply.Text)
	if err != nil {
		return nil, memory.Author{}, fmt.Errorf("read the model's facts: %w", err)
	}
	name := reply.Model
	if name == "" {
		name = ask.Model
	}
	for i := range cands {
		cands[i].Model = name + "+" + ask.Hash
	}
	return cands, memory.Author{Kind: memory.ByModel, Name: name, Prompt: ask.Hash}, nil
}

// reconcile compares candidates with what is known and applies what follows.
// When another run was quicker it compares again.
func (e *Engine) reconcile(ctx context.Context, scope memory.Scope, run memory.Run, cands []learn.Candidate, dropped []learn.Dropped, said []learn.Said) error {
	for try := 1; ; try++ {
		changes, outcomes, err := e.plan(ctx, scope, run.Author, cands)
		if err != nil {
			return err
		}
		attempt := run
		if attempt.Vectors, err = e.factVectors(ctx, changes); err != nil {
			return err
		}
		_, err = e.Store.Apply(ctx, scope.Owner, attempt, changes...)
		if err == nil {
			e.decided(ctx, scope.Owner, said, outcomes, dropped)
			return nil
		}
		if !errors.Is(err, memory.Conflict) && !errors.Is(err, memory.Duplicate) || try == maxConflicts {
			return fmt.Errorf("apply what was learned: %w", err)
		}
	}
}

func (e *Engine) plan(ctx context.Context, scope memory.Scope, author memory.Author, cands []learn.Candidate) ([]memory.Change, []learn.Outcome, error) {
	cands = slices.Clone(cands)
	for i := range cands {
		near, err := e.near(ctx, scope, cands[i])
		if err != nil {
			return nil, nil, err
		}
		cands[i].Near = near
	}
	fresh, again, dropped := learn.Dedupe(cands, learn.DedupeOptions{Scope: scope})
	decisions := e.decisions(ctx, fresh, author)
	changes, outcomes := learn.Plan(fresh, decisions, again, learn.PlanOptions{
		Now: e.now(), NewID: newID, Scope: scope, Author: author,
		Free: func(words string) bool { return e.free(ctx, scope, words) },
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
func (e *Engine) decisions(ctx context.Context, cands []learn.Candidate, author memory.Author) []learn.Decision {
	near := slices.ContainsFunc(cands, func(c learn.Candidate) bool { return len(c.Near) > 0 })
	if e.LLM == nil || author.Kind != memory.ByModel || !near {
		return learn.Reconcile(cands)
	}
	ask, err := learn.AskDecisions(cands, e.Prompts)
	if err == nil {
		ask.Model = e.opts.LearnModel
		var reply memory.Reply
		if reply, err = e.LLM.Complete(ctx, ask); err == nil {
			var decisions []learn.Decision
			if decisions, err = learn.ParseDecisions(reply.Text, cands); err == nil {
				return decisions
			}
		}
	}
	e.Log.Warn("the rules reconcile, since the model could not", "err", err)
	return learn.Reconcile(cands)
}

// near returns the facts a candidate is compared with: the most similar, those
// about the same thing, and those of the same words that were refused before.
func (e *Engine) near(ctx context.Context, scope memory.Scope, c learn.Candidate) ([]learn.Neighbour, error) {
	near, err := e.neighbours(ctx, scope, c.Text, nearest)
	if err != nil {
		return nil, err
	}
	queries := []memory.Query{{Hash: text.Hash(c.Text), Statuses: []memory.Status{memory.Active, memory.Pending, memory.Retired, memory.Rejected}}}
	if c.Attribute != "" {
		queries = append(queries, memory.Query{Subject: c.Subject, Attribute: c.Attribute, Statuses: []memory.Status{memory.Active, memory.Pending}})
	}
	for _, q := range queries {
		page, err := e.Store.List(ctx, scope.Owner, q)
		if err != nil {
			return nil, fmt.Errorf("list facts to compare with: %w", err)
		}
		for _, m := range page.Memories {
			if scope.Sees(m.Scope()) && !slices.ContainsFunc(near, func(n learn.Neighbour) bool { return n.Fact.ID == m.ID() }) {
				near = append(near, learn.Neighbour{Fact: *m.Fact, Link: m.Link})
			}
		}
	}
	return near, nil
}

// neighbours returns the most similar facts, best first.
func (e *Engine) neighbours(ctx context.Context, scope memory.Scope, words string, n int) ([]learn.Neighbour, error) {
	vectors, err := e.Embedder.Embed(ctx, memory.AsDocument, words)
	if err != nil {
		return nil, fmt.Errorf("embed to compare: %w", err)
	}
	found, err := e.Searcher.Search(ctx, memory.Search{
		Scopes: []memory.Scope{scope}, Text: words, Vector: vectors[0],
		Kinds: []memory.Kind{memory.KindFact}, Now: e.now(), Limit: n,
	})
	if err != nil {
		return nil, fmt.Errorf("search to compare: %w", err)
	}
	ids := make([]string, len(found))
	similarity := map[string]float64{}
	for i, c := range found {
		ids[i], similarity[c.ID] = c.ID, c.Why.Get("vector")
	}
	memories, err := e.Store.Get(ctx, scope.Owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("read facts to compare with: %w", err)
	}
	var out []learn.Neighbour
	for _, m := range memories {
		if m.Fact != nil {
			out = append(out, learn.Neighbour{Fact: *m.Fact, Link: m.Link, Similarity: similarity[m.ID()]})
		}
	}
	return out, nil
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
func (e *Engine) decided(ctx context.Context, owner memory.Owner, said []learn.Said, outcomes []learn.Outcome, dropped []learn.Dropped) {
	line := obs.MemoryDecision{UserID: owner.Name(), ExtractedCount: len(outcomes) + len(dropped)}
	for _, s := range said {
		line.InputMessageLength += len(s.Text)
	}
	for _, o := range outcomes {
		d := obs.Decision{Fact: o.Fact, Action: o.Action, TargetID: o.Target, Reason: o.Reason}
		if o.Action == "reinforce" { // seed 3's word for it, whatever it does to the known fact
			d.Action, d.Reason = "ignore", obs.Redundant
		}
		line.Decisions = append(line.Decisions, d)
	}
	for _, d := range dropped {
		line.Decisions = append(line.Decisions, obs.Decision{Fact: d.Candidate.Text, Action: "ignore", Reason: d.Reason})
	}
	line.Log(ctx, e.Log)
	e.Metrics.Decided(line)
	e.Metrics.Learned("applied")
}
