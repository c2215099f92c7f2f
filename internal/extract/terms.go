package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// silent are terms that are compared apart: who it is about, and negation.
var silent = lazy.SetOf("user longer anymore never no none nothing", TermsOf)

// TermSet returns the terms that tell what s is about.
func TermSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, t := range text.Terms(s) {
		if !silent.Has(t) {
			set[t] = true
		}
	}
	return set
}

// Covered returns which part of a's terms are among b's, 0 if a has none.
func Covered(a, b map[string]bool) float64 {
	if len(a) == 0 {
		return 0
	}
	shared := 0
	for t := range a {
		if b[t] {
			shared++
		}
	}
	return float64(shared) / float64(len(a))
}

// SameThing reports whether what a negation ends is what is known: having left
// Berlin says nothing against living in Lisbon.
func SameThing(said, known string) bool {
	a, b := TermSet(said), TermSet(known)
	return Covered(b, a) >= 0.75 || Covered(a, b) == 1
}

// TermsOf returns the terms of words as a set.
func TermsOf(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		if t := text.Term(w); t != "" {
			m[t] = true
		}
	}
	return m
}
