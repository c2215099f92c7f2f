package shelf

import (
	"slices"

	"github.com/loci-memory/loci/memory"
)

// All copies are deep. Their times are rounded to microseconds, the precision of stores.

func copyState(i memory.State) memory.State {
	switch {
	case i.Fact != nil:
		f := copyFact(*i.Fact)
		return memory.State{Fact: &f}
	case i.Link != nil:
		l := copyLink(*i.Link)
		return memory.State{Link: &l}
	case i.Profile != nil:
		p := *i.Profile
		p.UpdatedAt = memory.Time(p.UpdatedAt)
		return memory.State{Profile: &p}
	case i.Relation != nil:
		r := *i.Relation
		r.CreatedAt = memory.Time(r.CreatedAt)
		return memory.State{Relation: &r}
	case i.Summary != nil:
		s := copySummary(*i.Summary)
		return memory.State{Summary: &s}
	case i.Turn != nil:
		t := *i.Turn
		return memory.State{Turn: &t}
	case i.Context != nil:
		c := copyContext(*i.Context)
		return memory.State{Context: &c}
	case i.Conversation != nil:
		c := *i.Conversation
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
func MemoryOf(i memory.State) memory.Memory {
	i = copyState(i)
	switch {
	case i.Fact != nil:
		return memory.Memory{Fact: i.Fact}
	case i.Link != nil:
		return memory.Memory{Fact: &i.Link.Fact, Link: i.Link}
	case i.Summary != nil:
		return memory.Memory{Summary: i.Summary}
	}
	return memory.Memory{}
}
