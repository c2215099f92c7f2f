package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// excludedTerms are terms for the user and for negation, which callers compare separately.
var excludedTerms = lazy.SetOf("user longer anymore never no none nothing", AllTermSet)

// TermSet returns the terms of a text without excludedTerms.
func TermSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, t := range text.Terms(s) {
		if !excludedTerms.Has(t) {
			set[t] = true
		}
	}
	return set
}

// CoveredShare returns the share of a's terms that b contains, 0 if a is empty.
func CoveredShare(a, b map[string]bool) float64 {
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

// IsSameThing reports whether a negation and a fact have nearly the same terms. "No longer lives in Berlin" is
// not about the same thing as "lives in Lisbon".
func IsSameThing(negation, fact string) bool {
	a, b := TermSet(negation), TermSet(fact)
	return CoveredShare(b, a) >= 0.75 || CoveredShare(a, b) == 1
}

// AllTermSet returns all terms of a text, including excludedTerms.
func AllTermSet(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		if t := text.Term(w); t != "" {
			m[t] = true
		}
	}
	return m
}
