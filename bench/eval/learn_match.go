package eval

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/text"
)

const (
	// alikeFrom is which part of the shorter statement's terms the longer must have
	// for the two to say the same. Beside other words for the same, fewer is mostly
	// chance: the report says how much.
	alikeFrom = 0.6

	// alikeTerms is how many terms they must share at least, as far as the shorter
	// has so many.
	alikeTerms = 2
)

// alike is how far two statements say the same, 0 if they do not: of the shorter
// one's terms (words without endings and small words, and without "user") the
// longer has at least three fifths, and two; the shorter one's names and numbers
// stand in the longer; and both deny something or neither does. Dates do not count.
// Among those that say the same, it is twice the terms shared over the terms of
// both.
func alike(a, b string) float64 {
	a, b = undated(a), undated(b)
	ta, tb := terms(a), terms(b)
	if len(ta) > len(tb) {
		a, b, ta, tb = b, a, tb, ta
	}
	n := sharedTerms(ta, tb)
	if len(ta) == 0 || float64(n) < alikeFrom*float64(len(ta)) || n < min(alikeTerms, len(ta)) || text.Negated(a) != text.Negated(b) {
		return 0
	}
	words, have := map[string]bool{}, map[string]bool{}
	text.EachWord(b, func(w string) { words[w] = true })
	for _, number := range text.Numbers(b) {
		have[number] = true
	}
	for _, number := range text.Numbers(a) {
		if !have[number] {
			return 0
		}
	}
	for _, name := range text.Names(a) {
		for _, w := range text.Words(name) {
			if !words[w] && w != "user" && w != "users" && w != "s" {
				return 0
			}
		}
	}
	return 2 * float64(n) / float64(len(ta)+len(tb))
}

// terms returns what a statement is about.
func terms(s string) map[string]bool {
	set := map[string]bool{}
	for _, t := range text.Terms(s) {
		if t != "user" {
			set[t] = true
		}
	}
	return set
}

func sharedTerms(a, b map[string]bool) (n int) {
	for t := range a {
		if b[t] {
			n++
		}
	}
	return n
}

// undated leaves dates out of a statement: one side says "last week", the other
// which week that was.
func undated(s string) string {
	var b strings.Builder
	last := 0
	for _, d := range text.Resolve(s, time.Time{}) {
		b.WriteString(s[last:d.Start])
		last = d.End
	}
	b.WriteString(s[last:])
	return b.String()
}
