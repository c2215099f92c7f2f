package ownerdata

import (
	"slices"

	"github.com/loci-memory/loci/memory"
)

// All copies are deep. Their times are rounded to microseconds, the precision of stores.

func copyState(state memory.State) memory.State {
	switch {
	case state.Fact != nil:
		f := copyFact(*state.Fact)
		return memory.State{Fact: &f}
	case state.Link != nil:
		l := copyLink(*state.Link)
		return memory.State{Link: &l}
	case state.Profile != nil:
		p := *state.Profile
		p.UpdatedAt = memory.Time(p.UpdatedAt)
		return memory.State{Profile: &p}
	case state.Relation != nil:
		r := *state.Relation
		r.CreatedAt = memory.Time(r.CreatedAt)
		return memory.State{Relation: &r}
	case state.Summary != nil:
		s := copySummary(*state.Summary)
		return memory.State{Summary: &s}
	case state.Turn != nil:
		t := *state.Turn
		return memory.State{Turn: &t}
	case state.Context != nil:
		c := copyContext(*state.Context)
		return memory.State{Context: &c}
	case state.Conversation != nil:
		c := *state.Conversation
		c.Contexts = slices.Clone(c.Contexts)
		return memory.State{Conversation: &c}
	}
	return memory.State{}
}

func copyFact(f memory.Fact) memory.Fact {
	f.Tags = slices.Clone(f.Tags)
	f.Provenance.Turns = slices.Clone(f.Provenance.Turns)
	if q := f.Provenance.Quote; q != nil {
		quote := *q
		f.Provenance.Quote = &quote
	}
	f.Metadata = slices.Clone(f.Metadata)
	f.ObservedAt = memory.Time(f.ObservedAt)
	f.ValidFrom = memory.Time(f.ValidFrom)
	f.ValidTo = memory.Time(f.ValidTo)
	f.CreatedAt = memory.Time(f.CreatedAt)
	f.UpdatedAt = memory.Time(f.UpdatedAt)
	f.ExpiresAt = memory.Time(f.ExpiresAt)
	return f
}

func copyLink(l memory.Link) memory.Link {
	l.Fact = copyFact(l.Fact)
	l.Fact.Version = l.HomeVersion
	l.CreatedAt = memory.Time(l.CreatedAt)
	return l
}

func copySummary(s memory.Summary) memory.Summary {
	s.CreatedAt = memory.Time(s.CreatedAt)
	return s
}

func copyContext(c memory.Context) memory.Context {
	c.CreatedAt, c.UpdatedAt = memory.Time(c.CreatedAt), memory.Time(c.UpdatedAt)
	return c
}

func copyTurn(t memory.Turn) memory.Turn {
	t.CreatedAt = memory.Time(t.CreatedAt)
	t.RecordedAt = memory.Time(t.RecordedAt)
	t.LearnedAt = memory.Time(t.LearnedAt)
	return t
}

func copyConversation(c memory.Conversation) memory.Conversation {
	c.Contexts = slices.Clone(c.Contexts)
	c.CreatedAt = memory.Time(c.CreatedAt)
	c.UpdatedAt = memory.Time(c.UpdatedAt)
	return c
}

func copyChange(c memory.Change) memory.Change {
	c.After, c.Before = copyState(c.After), copyState(c.Before)
	return c
}

func copyJob(j memory.Job) memory.Job {
	j.Turns = slices.Clone(j.Turns)
	return j
}

// CopyTrace returns a deep copy of a trace.
func CopyTrace(t memory.Trace) memory.Trace {
	t.At = memory.Time(t.At)
	t.Hits, t.Cut = copyTraceHits(t.Hits), copyTraceHits(t.Cut)
	t.Degraded = slices.Clone(t.Degraded)
	t.Misspelt = slices.Clone(t.Misspelt)
	for i := range t.Misspelt {
		t.Misspelt[i].Meant = slices.Clone(t.Misspelt[i].Meant)
	}
	return t
}

func copyTraceHits(hits []memory.TraceHit) []memory.TraceHit {
	hits = slices.Clone(hits)
	for i := range hits {
		hits[i].Why = slices.Clone(hits[i].Why)
	}
	return hits
}

// MemoryOf returns a copy of the fact or summary in a state, or the zero Memory for another kind.
func MemoryOf(state memory.State) memory.Memory {
	state = copyState(state)
	switch {
	case state.Fact != nil:
		return memory.Memory{Fact: state.Fact}
	case state.Link != nil:
		return memory.Memory{Fact: &state.Link.Fact, Link: state.Link}
	case state.Summary != nil:
		return memory.Memory{Summary: state.Summary}
	}
	return memory.Memory{}
}
