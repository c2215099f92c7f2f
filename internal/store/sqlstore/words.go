package sqlstore

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// termsOf returns each term once that a memory is found by, in order: those of its
// words, of its tags, of its speaker's name and of the day it was said, as the resident index has
// them; and its length ([memory.Whole]).
func termsOf(m memory.Memory) (terms []string, length int64) {
	set := map[string]bool{}
	add := func(s string) {
		for _, t := range text.Terms(s) {
			set[t], length = true, length+3
		}
	}
	add(m.Content())
	said := m.CreatedAt()
	switch {
	case m.Fact != nil:
		said = m.Fact.ObservedAt
		for _, tag := range m.Fact.Tags {
			add(tag)
		}
	case m.Turn != nil:
		add(m.Turn.Name)
	}
	if !said.IsZero() {
		year, month, day := said.UTC().Date()
		for _, w := range []string{strings.ToLower(month.String()), strconv.Itoa(year), strconv.Itoa(day)} {
			if t := text.Term(w); t != "" {
				set[t], length = true, length+1
			}
		}
	}
	return slices.Sorted(maps.Keys(set)), length
}

// lexemes writes terms as a tsquery that any of them answers. They are taken as they
// stand: no dictionary of the server's is asked.
func lexemes(terms []string) string {
	quoted := make([]string, len(terms))
	for i, t := range terms {
		quoted[i] = `'` + strings.NewReplacer(`'`, `''`, `\`, `\\`).Replace(t) + `'`
	}
	return strings.Join(quoted, ` | `)
}

// threadOf returns the conversation that said or taught a memory, and a turn's place in
// it, -1 for what is not a turn.
func threadOf(m memory.Memory) (conversation string, place int64) {
	switch conversation = m.Scope().Conversation; {
	case m.Turn != nil:
		return m.Turn.Conversation, int64(m.Turn.Index)
	case m.Fact != nil && conversation == "":
		return m.Fact.Provenance.Conversation, -1
	}
	return conversation, -1
}

// expiresAt is 0 for what does not expire.
func expiresAt(m memory.Memory) int64 {
	if m.Fact == nil || m.Fact.ExpiresAt == (time.Time{}) {
		return 0
	}
	return micros(m.Fact.ExpiresAt)
}
