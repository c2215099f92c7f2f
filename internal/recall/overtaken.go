package recall

import (
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// CurrentFactsFirst moves each current fact before the hit with the statement that the fact replaced.
func CurrentFactsFirst(hits []memory.Hit) []memory.Hit {
	if !slices.ContainsFunc(hits, func(h memory.Hit) bool { return len(h.Replacements) > 0 }) {
		return hits
	}
	out := slices.Clone(hits)
	for i := 0; i < len(out); i++ {
		for _, f := range out[i].Replacements {
			at := slices.IndexFunc(out, func(h memory.Hit) bool { return h.Memory.ID() == f.ID })
			if at < i {
				continue
			}
			fact := out[at]
			copy(out[i+1:at+1], out[i:at])
			out[i] = fact
			i++
		}
	}
	return out
}

// AnsweredTurnID returns the id of the turn that an assistant's turn answers, "" for other memories.
func AnsweredTurnID(m memory.Memory) string {
	if m.Turn == nil || m.Turn.Role != memory.RoleAssistant {
		return ""
	}
	return m.Turn.Parent
}

// PairAnswers puts each assistant's answer after its question, at the better rank of the two. It adds
// questions that are not hits while they fit the token budget.
func PairAnswers(hits []memory.Hit, questions []memory.Memory, budget int) []memory.Hit {
	for _, h := range hits {
		budget -= tokenCountOf(h.Memory)
	}
	candidates := slices.Clone(hits)
	for _, q := range questions {
		if !slices.ContainsFunc(candidates, func(h memory.Hit) bool { return h.Memory.ID() == q.ID() }) && tokenCountOf(q) <= budget {
			budget -= tokenCountOf(q)
			candidates = append(candidates, memory.Hit{Memory: q, Why: memory.Why{{Name: "asked", Value: 1}}})
		}
	}
	out, placed := make([]memory.Hit, 0, len(candidates)), map[string]bool{}
	addHit := func(h memory.Hit) {
		if !placed[h.Memory.ID()] {
			out, placed[h.Memory.ID()] = append(out, h), true
		}
	}
	for _, h := range hits {
		if i := slices.IndexFunc(candidates, func(q memory.Hit) bool { return q.Memory.ID() == AnsweredTurnID(h.Memory) }); i >= 0 {
			h = candidates[i]
		}
		addHit(h)
		for _, a := range hits {
			if AnsweredTurnID(a.Memory) == h.Memory.ID() {
				addHit(a)
			}
		}
	}
	return out
}

// tokenCountOf returns the number of tokens that a memory needs in a block.
func tokenCountOf(m memory.Memory) int {
	return text.EstimateTokens(renderLine(m, blockDate(m), false))
}

// maxReplacedShown is the maximum number of replaced facts that a block shows with a fact.
const maxReplacedShown = 2

// ReplacedFacts returns the replaced facts to show with a fact. It omits replaced facts whose words the new
// fact contains.
func ReplacedFacts(f memory.Fact, superseded []memory.Fact) []memory.Fact {
	var out []memory.Fact
	newTerms := termsOf(f.Content)
	for _, old := range superseded {
		hasNewTerm := slices.ContainsFunc(termsOf(old.Content), func(term uint64) bool { return !newTerms.has(term) })
		if hasNewTerm && len(out) < maxReplacedShown {
			out = append(out, old)
		}
	}
	return out
}

// ReplacementTime returns the time at which a fact was replaced.
func ReplacementTime(f memory.Fact) time.Time {
	if !f.ValidTo.IsZero() {
		return f.ValidTo
	}
	return f.UpdatedAt
}
