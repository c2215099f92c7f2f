package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Summarizing is how often conversations are summed up.
type Summarizing struct {
	Every int  // exchanges; 0: never
	Keep  bool // earlier summaries stay, and a new one is of the last turns alone (design 2)
}

// What a summary is made from: with one to go on from the last turns, without one
// more of them, so that a summary which was forgotten with what it held is written
// anew from what is left.
const (
	summaryTurns = 12
	summaryFirst = 60
	summaryLeast = 4 // turns below which there is nothing to sum up, unless summaries are due sooner
)

// least is how many turns a summary needs: no more than are there when the first is due.
func (s Summarizing) least() int { return min(summaryLeast, 2*s.Every-1) }

// ruleBased is the model that a summary names which no model wrote.
const ruleBased = "rule_based"

// due reports whether a conversation that had so many exchanges before and has so
// many after is to be summed up.
func (s Summarizing) due(before, after int) bool {
	return s.Every == 1 || s.Every > 0 && after/s.Every > before/s.Every
}

// summaryJob is the job that sums a conversation up; after names what it follows.
func summaryJob(owner memory.Owner, conversation, after string) memory.Job {
	return memory.Job{ID: "summarize-" + conversation + "-" + after, Owner: owner, Kind: memory.JobSummarize, Conversation: conversation}
}

// Summarize is the handler of summarize jobs: the conversation's summary is written
// anew, by the model or else by rule, and takes the place of the one before unless that is kept.
func (e *Engine) Summarize(ctx context.Context, job memory.Job) (jobs.End, error) {
	e.lull.wait(ctx)
	version, err := e.version(ctx, job.Owner)
	if err != nil {
		return "", err
	}
	before, err := e.summaries(ctx, job.Owner, job.Conversation)
	if err != nil {
		return "", err
	}
	last, latest, previous := summaryFirst, "", ""
	if len(before) > 0 {
		last, latest = summaryTurns, before[0].Text
		previous = latest
	}
	if e.opts.Learn.Summary.Keep {
		last, previous, before = summaryTurns, "", nil
	}
	turns, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, Last: last})
	if err != nil {
		return "", fmt.Errorf("read turns: %w", err)
	}
	said := learn.Guard(turns, learn.GuardOptions{
		Assistant: true, Personal: e.opts.Learn.Personal,
		Begin: recall.FenceOpen, End: recall.FenceClose, Given: e.blocksOf(job.Owner, turns).upTo,
	})
	said = slices.DeleteFunc(said, func(s learn.Said) bool { return s.Turn.Name == memory.RecallModel }) // it repeats what is known
	if len(said) < e.opts.Learn.Summary.least() {
		return jobs.Nothing, nil
	}
	if err := e.leaveOutRefused(ctx, job, said); err != nil {
		return "", err
	}
	words, author := e.sumUp(ctx, job.Owner, said, previous)
	if words == "" || words == latest {
		return jobs.Nothing, nil
	}
	written, err := e.writeSummary(ctx, job, turns[len(turns)-1], words, author, before)
	if err != nil {
		return "", err
	}
	if written.Version != version+1 {
		err = e.recheck(ctx, job, written.Run, turns)
	}
	return jobs.Applied, err
}

// leaveOutRefused blanks the sentences that facts are from which wait for a person, or
// were rejected: a summary would state them all the same.
func (e *Engine) leaveOutRefused(ctx context.Context, job memory.Job, said []learn.Said) error {
	quotes := map[string][]memory.Span{} // by turn
	q := memory.Query{Conversation: job.Conversation, Statuses: []memory.Status{memory.Pending, memory.Rejected}}
	err := e.everything(ctx, job.Owner, q, func(m memory.Memory) {
		if quote := m.Fact.Provenance.Quote; m.Link == nil && quote != nil {
			quotes[quote.Turn] = append(quotes[quote.Turn], *quote)
		}
	})
	if err != nil {
		return fmt.Errorf("read what waits or was rejected: %w", err)
	}
	for i, s := range said {
		said[i] = learn.Without(s, quotes[s.Turn.ID])
	}
	return nil
}

// rejected returns the changes by which the summaries of those conversations leave
// recall that rejected facts are from, and the jobs that write them anew without.
func (e *Engine) rejected(ctx context.Context, owner memory.Owner, run string, changes []memory.Change, author memory.Author) ([]memory.Change, []memory.Job, error) {
	var stale []memory.Memory
	var after []memory.Job
	looked := map[string]bool{"": true}
	for _, c := range changes {
		if c.Action != memory.ActionReject || c.After.Fact == nil || looked[c.After.Fact.Provenance.Conversation] {
			continue
		}
		conversation := c.After.Fact.Provenance.Conversation
		looked[conversation] = true
		made, err := e.summaries(ctx, owner, conversation)
		if err != nil {
			return nil, nil, fmt.Errorf("read the summaries of what is rejected: %w", err)
		}
		for _, s := range made {
			stale = append(stale, memory.Memory{Summary: &s})
		}
		if len(made) > 0 {
			after = append(after, summaryJob(owner, conversation, run))
		}
	}
	return learn.Forget(stale, e.now(), "some of what it was made from is rejected", author), after, nil
}

// recheck takes a summary back if something was forgotten meanwhile of what it was
// made from, and has it written anew from what is left. If it was erased, so is the
// summary.
func (e *Engine) recheck(ctx context.Context, job memory.Job, run string, turns []memory.Turn) error {
	ids := make([]string, len(turns))
	for i, t := range turns {
		ids[i] = t.ID
	}
	left, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, IDs: ids})
	if err != nil || len(left) == len(turns) {
		return err
	}
	made, err := e.summaries(ctx, job.Owner, job.Conversation)
	if err != nil {
		return err
	}
	var stale []memory.Memory
	for _, s := range made {
		stale = append(stale, memory.Memory{Summary: &s})
	}
	author := memory.Author{Kind: memory.ByRule, Name: "summaries"}
	now, err := e.Store.Get(ctx, job.Owner, ids...)
	if err != nil {
		return fmt.Errorf("read what became of turns: %w", err)
	}
	if slices.ContainsFunc(turns, func(t memory.Turn) bool {
		return t.Content != "" && slices.ContainsFunc(now, func(m memory.Memory) bool { return m.ID() == t.ID && m.Content() == "" })
	}) {
		_, err := e.erase(ctx, job.Owner, run+"-recheck", stale, author)
		return err
	}
	changes := learn.Forget(stale, e.now(), "some of what it was made from is forgotten", author)
	again := summaryJob(job.Owner, job.Conversation, run)
	_, err = e.Store.Apply(ctx, job.Owner, memory.Run{ID: run + "-recheck", Kind: "summarize", Author: author, Jobs: []memory.Job{again}}, changes...)
	return err
}

// summaries returns a conversation's active summaries, newest first.
func (e *Engine) summaries(ctx context.Context, owner memory.Owner, conversation string) ([]memory.Summary, error) {
	var out []memory.Summary
	err := e.everything(ctx, owner, memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Conversation: conversation}, func(m memory.Memory) {
		out = append(out, *m.Summary)
	})
	return out, err
}

// sumUp asks the model; where there is none, or it fails, the rules do it.
func (e *Engine) sumUp(ctx context.Context, owner memory.Owner, said []learn.Said, previous string) (string, memory.Author) {
	byRule := memory.Author{Kind: memory.ByRule, Name: ruleBased}
	if e.LLM == nil {
		return learn.Summarize(said, previous), byRule
	}
	words, author, err := e.sumUpByModel(ctx, owner, said, previous)
	if err != nil {
		e.Log.Warn("the rules sum up, since the model could not", "err", err)
		return learn.Summarize(said, previous), byRule
	}
	return words, author
}

func (e *Engine) sumUpByModel(ctx context.Context, owner memory.Owner, said []learn.Said, previous string) (string, memory.Author, error) {
	ask, err := learn.AskSummary(said, previous, e.learnPrompts(owner))
	if err != nil {
		return "", memory.Author{}, err
	}
	words, reply, err := askFor(ctx, e, owner, ask, learn.ParseSummary)
	return words, memory.Author{Kind: memory.ByModel, Name: reply.Model, Prompt: ask.Hash}, err
}

// writeSummary puts a summary that reaches up to a turn in the place of others.
func (e *Engine) writeSummary(ctx context.Context, job memory.Job, last memory.Turn, words string, author memory.Author, before []memory.Summary) (memory.Receipt, error) {
	s := memory.Summary{
		ID: newID(), Scope: memory.Scope{Owner: job.Owner, Project: last.Project, Agent: last.Agent, Conversation: job.Conversation},
		Text: words, MessageCount: last.Index + 1, Model: author.Name, Status: memory.Active, CreatedAt: e.now(),
	}
	vectors, err := e.vectors(ctx, s.ID, s.Text)
	if err != nil {
		return memory.Receipt{}, err
	}
	var changes []memory.Change
	for _, old := range before {
		old.Status = memory.Retired
		changes = append(changes, memory.Change{Action: memory.ActionRetire, After: memory.Image{Summary: &old}, Base: old.Version, NewID: s.ID, Reason: "summed up anew", Author: author})
	}
	changes = append(changes, memory.Change{Action: memory.ActionAdd, After: memory.Image{Summary: &s}, NewID: s.ID, Reason: "summed up", Author: author})
	run := memory.Run{ID: runOf(job.ID), Kind: "summarize", Author: author, Lease: &job.Lease, Vectors: vectors}
	receipt, err := e.Store.Apply(ctx, job.Owner, run, changes...)
	if err != nil {
		return memory.Receipt{}, fmt.Errorf("write the summary: %w", err)
	}
	e.warm(job.Owner)
	return receipt, nil
}
