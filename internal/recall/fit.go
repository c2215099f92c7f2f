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
// turn it was learned from only one takes room: the fact, if it answers nearly as
// well, since it is short and kept up to date; else the first. Of hits that say
// the same in nearly the same words the first stays. One that is too long for what
// is left is passed over for shorter ones behind it.
func Fit(hits []memory.Hit, o FitOptions) []memory.Hit {
	var kept []memory.Hit
	var words []map[string]bool // of kept
	room := o.Budget
	for _, h := range distilled(hits) {
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

// asGood is the share of its turn's own words for the question that a fact must
// have to stand in for the turn.
const asGood = 0.8

// distilled puts facts in front of the turns they can stand in for.
func distilled(hits []memory.Hit) []memory.Hit {
	out := slices.Clone(hits)
	for i := range out {
		if out[i].Memory.Turn == nil {
			continue
		}
		for j := i + 1; j < len(out); j++ {
			if learnedFrom(out[j].Memory, out[i].Memory) && out[j].Why.Get("own") >= asGood*out[i].Why.Get("own") {
				fact := out[j]
				copy(out[i+1:j+1], out[i:j])
				out[i] = fact
				break
			}
		}
	}
	return out
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
