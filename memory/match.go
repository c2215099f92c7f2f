package memory

import (
	"slices"
	"strings"
	"unicode"
)

// Matches reports whether q selects m, ignoring limit and cursor. m has the state recorded at q.At.AsOf.
func (q Query) Matches(m Memory) bool {
	return strings.HasPrefix(m.ID(), q.IDPrefix) && q.matchesKind(m) && q.matchesStatus(m) && q.matchesScope(m) && q.matchesFact(m) &&
		ContainsFold(m.Content(), q.Text)
}

func (q Query) matchesKind(m Memory) bool {
	if len(q.Kinds) == 0 {
		return m.Kind() == KindFact
	}
	return slices.Contains(q.Kinds, m.Kind())
}

func (q Query) matchesStatus(m Memory) bool {
	if !q.At.ValidAt.IsZero() && m.Fact != nil && !m.Fact.ValidAt(q.At.ValidAt) {
		return false
	}
	if len(q.Statuses) > 0 {
		return slices.Contains(q.Statuses, m.Status())
	}
	return m.Status() == Active || m.Status() == Superseded && !q.At.ValidAt.IsZero()
}

func (q Query) matchesScope(m Memory) bool {
	s := m.Scope()
	if q.Project != "" && q.Project != s.Project || q.Agent != "" && q.Agent != s.Agent {
		return false
	}
	return q.Conversation == "" || slices.Contains(m.conversations(), q.Conversation)
}

// conversations returns the conversations to which the memory belongs or from which it was learned. It is nil
// for a linked fact, which was learned from conversations of the sharing owner.
func (m Memory) conversations() []string {
	switch {
	case m.Link != nil:
		return nil
	case m.Fact != nil:
		return []string{m.Fact.Scope.Conversation, m.Fact.Provenance.Conversation}
	case m.Turn != nil:
		return []string{m.Turn.Conversation}
	}
	return []string{m.Scope().Conversation}
}

func (q Query) matchesFact(m Memory) bool {
	if q.Category == "" && q.Tag == "" && q.Subject == "" && q.Attribute == "" && q.Hash == "" && q.Turn == "" && !q.Pinned {
		return true
	}
	f := m.Fact
	return f != nil &&
		(q.Category == "" || q.Category == f.Category) &&
		(q.Tag == "" || slices.Contains(f.Tags, q.Tag)) &&
		(q.Subject == "" || q.Subject == f.Subject) &&
		(q.Attribute == "" || q.Attribute == f.Attribute) &&
		(q.Hash == "" || q.Hash == f.Hash) &&
		(q.Turn == "" || m.Link == nil && slices.Contains(f.Provenance.Turns, q.Turn)) &&
		(!q.Pinned || f.Pinned())
}

// ContainsFold reports whether s contains substr, ignoring case like strings.EqualFold.
func ContainsFold(s, substr string) bool {
	return strings.Contains(foldCase(s), foldCase(substr))
}

func foldCase(s string) string { return strings.Map(smallestFold, s) }

// smallestFold returns the smallest rune that equals r under case folding.
func smallestFold(r rune) rune {
	if r < unicode.MaxASCII {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
