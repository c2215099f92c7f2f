package core

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/internal/learn"
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
	SummaryTurns = 12
	SummaryFirst = 60
	summaryLeast = 4 // turns below which there is nothing to sum up, unless summaries are due sooner
)

// Least is how many turns a summary needs: no more than are there when the first is due.
func (s Summarizing) Least() int { return min(summaryLeast, 2*s.Every-1) }

// RuleBased is the model that a summary names which no model wrote.
const RuleBased = "rule_based"

// Due reports whether a conversation that had so many exchanges before and has so
// many after is to be summed up.
func (s Summarizing) Due(before, after int) bool {
	return s.Every == 1 || s.Every > 0 && after/s.Every > before/s.Every
}

// SummaryJob is the job that sums a conversation up; after names what it follows.
func SummaryJob(owner memory.Owner, conversation, after string) memory.Job {
	return memory.Job{ID: "summarize-" + conversation + "-" + after, Owner: owner, Kind: memory.JobSummarize, Conversation: conversation}
}

// Rejected returns the changes by which the summaries of those conversations leave
// recall that rejected facts are from, and the jobs that write them anew without.
func (e *Core) Rejected(ctx context.Context, owner memory.Owner, run string, changes []memory.Change, author memory.Author) ([]memory.Change, []memory.Job, error) {
	var stale []memory.Memory
	var after []memory.Job
	looked := map[string]bool{"": true}
	for _, c := range changes {
		if c.Action != memory.ActionReject || c.After.Fact == nil || looked[c.After.Fact.Provenance.Conversation] {
			continue
		}
		conversation := c.After.Fact.Provenance.Conversation
		looked[conversation] = true
		made, err := e.Summaries(ctx, owner, conversation)
		if err != nil {
			return nil, nil, fmt.Errorf("read the summaries of what is rejected: %w", err)
		}
		for _, s := range made {
			stale = append(stale, memory.Memory{Summary: &s})
		}
		if len(made) > 0 {
			after = append(after, SummaryJob(owner, conversation, run))
		}
	}
	return learn.Forget(stale, e.Time(), "some of what it was made from is rejected", author), after, nil
}

// Summaries returns a conversation's active summaries, newest first.
func (e *Core) Summaries(ctx context.Context, owner memory.Owner, conversation string) ([]memory.Summary, error) {
	var out []memory.Summary
	err := e.Everything(ctx, owner, memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Conversation: conversation}, func(m memory.Memory) {
		out = append(out, *m.Summary)
	})
	return out, err
}
