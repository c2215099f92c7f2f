package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// FitOptions say how much room there is.
type FitOptions struct {
	TopK   int // most hits
	Budget int // most tokens of their lines in a block; 0: any
}

// Fit returns the hits that there is room for, in their order. Of a fact and the
// turn it was learned from only the first is kept, and of hits that say the same
// in nearly the same words. One that is too long for what is left is passed over
// for shorter ones behind it.
func Fit(hits []memory.Hit, o FitOptions) []memory.Hit {
	var kept []memory.Hit
	var words []map[string]bool // of kept
	room := o.Budget
	for _, h := range hits {
		if len(kept) == o.TopK {
			break
		}
		own := set(h.Memory.Content())
		if sameSource(h.Memory, kept) || sayTheSame(h.Memory, own, kept, words) {
			continue
		}
		if o.Budget > 0 {
			cost := text.Tokens(line(h.Memory))
			if cost > room {
				continue
			}
			room -= cost
		}
		kept, words = append(kept, h), append(words, own)
	}
	return kept
}

// sameSource reports whether m is a fact and its turn is kept, or the other way
// round.
func sameSource(m memory.Memory, kept []memory.Hit) bool {
	return slices.ContainsFunc(kept, func(k memory.Hit) bool {
		return learnedFrom(m, k.Memory) || learnedFrom(k.Memory, m)
	})
}

func learnedFrom(fact, turn memory.Memory) bool {
	return fact.Fact != nil && turn.Turn != nil && slices.Contains(fact.Fact.Provenance.Turns, turn.Turn.ID)
}

// alike is the share of words, of both together, from which two memories say the
// same; numbers and negation must agree besides.
const alike = 0.9

func sayTheSame(m memory.Memory, own map[string]bool, kept []memory.Hit, words []map[string]bool) bool {
	for i, k := range kept {
		if overlap(own, words[i]) >= alike && agree(m.Content(), k.Memory.Content()) {
			return true
		}
	}
	return false
}

func overlap(a, b map[string]bool) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	shared := 0
	for t := range a {
		if b[t] {
			shared++
		}
	}
	return float64(shared) / float64(len(a)+len(b)-shared)
}

func agree(a, b string) bool {
	return text.Negated(a) == text.Negated(b) && slices.Equal(text.Numbers(a), text.Numbers(b))
}
