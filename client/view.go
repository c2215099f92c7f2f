package client

import (
	"cmp"
	"unicode/utf8"

	"github.com/loci-memory/loci/memory"
)

// View returns a memory in the form of the API.
func View(m memory.Memory) Memory {
	v := Memory{ID: m.ID(), Kind: m.Kind(), Content: m.Content(), CreatedAt: m.CreatedAt(), Project: m.Scope().Project, Agent: m.Scope().Agent}
	switch m.Kind() {
	case memory.KindFact:
		viewFact(&v, m.Fact)
	case memory.KindTurn:
		t := m.Turn
		v.Status, v.Conversation, v.Role, v.Name, v.Ref, v.LearnedAt = t.Status, t.Conversation, t.Role, t.Name, t.Ref, t.LearnedAt
	case memory.KindSummary:
		s := m.Summary
		v.Status, v.Conversation, v.Messages, v.Model = s.Status, s.Scope.Conversation, s.MessageCount, s.Model
	}
	if m.Link != nil {
		v.Status = m.Status()
		v.Home = string(m.Fact.Scope.Owner)
	}
	return v
}

func viewFact(v *Memory, f *memory.Fact) {
	v.Status, v.Category, v.Tags, v.Subject, v.Attribute = f.Status, f.Category, f.Tags, f.Subject, f.Attribute
	v.Confidence, v.Source, v.Trust, v.Pinned, v.Core = f.Confidence, f.Source, f.Trust, f.Pinned(), f.Core
	v.Conversation, v.Model, v.SupersededBy, v.Metadata = f.Provenance.Conversation, f.Model, f.SupersededBy, f.Metadata
	v.ObservedAt, v.ValidFrom, v.ValidTo, v.UpdatedAt, v.ExpiresAt = f.ObservedAt, f.ValidFrom, f.ValidTo, f.UpdatedAt, f.ExpiresAt
	if len(f.Provenance.Turns) > 0 {
		v.Provenance = &f.Provenance
	}
}

// ViewHit returns a hit in the form of the API, with the field why if explain is set.
func ViewHit(h memory.Hit, explain bool) Hit {
	v := Hit{Memory: View(h.Memory), Score: h.Score}
	if explain {
		v.Why = &h.Why
	}
	for _, f := range h.Replacements {
		v.Now = append(v.Now, cmp.Or(f.Content, "(no longer so)"))
	}
	for _, f := range h.Predecessors {
		v.Was = append(v.Was, f.Content)
	}
	return v
}

// ViewChange returns a journal entry in the form of the API.
func ViewChange(c memory.Change) Change {
	v := Change{
		ID: c.ID, Run: c.Run, Action: c.Action, Target: c.After.Target(), OldID: c.OldID, NewID: c.NewID,
		Reason: c.Reason, Author: c.Author, CreatedAt: c.At, After: &c.After,
	}
	if !c.Before.IsZero() {
		v.Before = &c.Before
	}
	return v
}

// ViewQuote returns the text that supports a fact, with the rest of its turn. If the span is nil or
// outside the turn's text, the quote has no Words.
func ViewQuote(turn Memory, span *memory.Span) *Quote {
	q := &Quote{Turn: turn.ID, Conversation: turn.Conversation, Role: turn.Role, SaidAt: turn.CreatedAt, Before: turn.Content}
	s := turn.Content
	if span != nil && span.Turn == turn.ID && 0 <= span.Start && span.Start < span.End && span.End <= len(s) &&
		utf8.ValidString(s[:span.Start]) && utf8.ValidString(s[span.Start:span.End]) {
		q.Before, q.Words, q.After = s[:span.Start], s[span.Start:span.End], s[span.End:]
	}
	return q
}

// ViewWaiting returns a pending fact in the form of the API. turn is the turn that supports the fact, or nil.
// The caller must set the result's fields Reason and Author.
func ViewWaiting(m memory.Memory, turn *memory.Turn, conflicts []memory.Fact) Waiting {
	v := Waiting{Memory: View(m)}
	if turn != nil {
		v.Quote = ViewQuote(View(memory.Memory{Turn: turn}), m.Fact.Provenance.Quote)
	}
	for _, c := range conflicts {
		v.Conflicts = append(v.Conflicts, View(memory.Memory{Fact: &c}))
	}
	return v
}

// ViewJob returns a job in the form of the API.
func ViewJob(j memory.Job) Job {
	return Job{ID: j.ID, Kind: j.Kind, State: j.State, Conversation: j.Conversation, Attempts: j.Attempts, RunAt: j.RunAt, CreatedAt: j.CreatedAt, Error: j.Error}
}
