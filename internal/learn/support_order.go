package learn

import (
	"slices"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/text"
)

// What a claim says must stand in the same order: tea over coffee is not coffee over
// tea.

// pivots are words after which it matters what comes.
var pivots = late.Words("than over from to before after for by instead until with")

// inOrder reports whether what stands after "than", "from" and their like in the
// claim is not what stands elsewhere in the words: tea over coffee is not coffee
// over tea.
func (c *claim) inOrder(g *gathered) bool {
	inClaim, inWords := following(c.text), following(g.text)
	for pivot, terms := range inClaim {
		there := inWords[pivot]
		if len(there) == 0 {
			continue
		}
		if sides.Has(pivot) && c.turned(terms, there, g) {
			return false
		}
		for t := range terms {
			if !there[t] && g.terms[t] && elsewhere(inWords, pivot, t) {
				return false
			}
		}
	}
	if inClaim["than"] != nil || inClaim["over"] != nil {
		after := inWords["than"]
		if after == nil {
			after = inWords["over"]
		}
		for t := range after {
			if firstIs(c.text, t, inClaim) {
				return false
			}
		}
	}
	if m := departure.FindStringSubmatch(g.folded); m != nil && !leaves.MatchString(c.folded) {
		if t := text.Term(m[1]); t != "" && (slices.Contains(c.terms, t) || slices.Contains(text.Words(c.whole), m[1])) {
			return false
		}
	}
	return true
}

// sides are pivots that have one thing on each side: sugar for honey.
var sides = late.Words("for instead than over")

// turned reports whether what follows a pivot in the claim stands before it in the
// words, and the other way round.
func (c *claim) turned(inClaim, inWords map[string]bool, g *gathered) bool {
	for t := range inClaim {
		for w := range inWords {
			if !inClaim[w] && !inWords[t] && slices.Contains(g.order, t) && slices.Contains(c.terms, w) {
				return true
			}
		}
	}
	return false
}

var leaves = late.Compile(`\b(?:from|left|lived|used|previously|formerly|former|no longer|was|were|moved|switched|changed)\b`)

// elsewhere reports whether a term follows another pivot.
func elsewhere(after map[string]map[string]bool, pivot, term string) bool {
	for p, terms := range after {
		if p != pivot && terms[term] {
			return true
		}
	}
	return false
}

// firstIs reports whether t stands in s but not after "than" or "over".
func firstIs(s, t string, after map[string]map[string]bool) bool {
	return !after["than"][t] && !after["over"][t] && termSet(s)[t]
}

// following returns for each pivot of s the terms that come next after it.
func following(s string) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	words := text.Words(s)
	for i, w := range words {
		if !pivots.Has(w) {
			continue
		}
		for j := i + 1; j < len(words) && j <= i+3; j++ {
			if pivots.Has(words[j]) {
				break
			}
			if t := text.Term(words[j]); t != "" && !free.Has(t) {
				if out[w] == nil {
					out[w] = map[string]bool{}
				}
				out[w][t] = true
				break
			}
		}
	}
	return out
}

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range text.Words(s) {
		set[w] = true
	}
	return set
}
