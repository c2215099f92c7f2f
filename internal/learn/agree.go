package learn

import (
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// common are terms that two facts may differ in and still say the same. Any other
// word that only one of them has makes a difference.
var common = lazy.SetOf(`live reside based located work employed job has own owns use uses like love enjoy prefer called named name really very much
	currently now also always still lot fact person someone goes go keep keeps married wife thing things`, extract.TermsOf)

// agree reports whether two facts that look alike say the same: of the same person
// and time, as a fact or as a plan, with the same numbers, dates, names, order,
// negation and all but common words.
func agree(a, b string) bool {
	return slices.Equal(numbers(a), numbers(b)) &&
		maps.Equal(nameSet(a), nameSet(b)) &&
		!differs(extract.TermSet(a), extract.TermSet(b)) && !differs(extract.TermSet(b), extract.TermSet(a)) &&
		sameSense(text.Fold(a), text.Fold(b)) && sameOrder(a, b)
}

// sameSense reports whether two folded facts both deny or both assert, of then or of
// now, what is or what is wanted, and as often.
func sameSense(a, b string) bool {
	return hasDenial(a) == hasDenial(b) && text.Negated(a) == text.Negated(b) &&
		bygone.MatchString(a) == bygone.MatchString(b) &&
		intent.MatchString(a) == intent.MatchString(b) &&
		unlikely.MatchString(a) == unlikely.MatchString(b) &&
		aboutWhom(a) == aboutWhom(b)
}

// bygone is what was: with stems alone "lived" and "lives" are one.
var bygone = lazy.Compile(`\b(?:was|were|had|did|used to|previously|formerly|former|once|no longer|any ?more|lived|worked|owned|studied|played|taught|drove|smoked|ran|drank)\b`)

// aboutWhom returns whom a folded fact is about: the user, a person of the user's, or
// what its first word names.
func aboutWhom(s string) string {
	if m := ofUser.FindString(s); m != "" {
		for _, w := range text.Words(firstWords(s[len(m):], 4)) {
			if p, ok := persons.Get()[w]; ok {
				return p.group
			}
			if verbish.Has(w) {
				break
			}
		}
		return "user"
	}
	if isUser.MatchString(s) {
		return "user"
	}
	for _, w := range text.Words(firstWords(s, 5)) {
		if p, ok := persons.Get()[w]; ok {
			return p.group
		}
	}
	return firstWords(s, 1)
}

func firstWords(s string, n int) string {
	words := strings.Fields(s)
	return strings.Join(words[:min(n, len(words))], " ")
}

// directions are stop words that two facts must share: out of the water is not in
// it.
var directions = lazy.Words("out off into onto away up down under over behind front inside outside without before after until since against")

// sameOrder reports whether what stands after "than", "from" and their like does in
// both, and whether both go the same way.
func sameOrder(a, b string) bool {
	if !maps.Equal(directed(a), directed(b)) {
		return false
	}
	x, y := following(a), following(b)
	for pivot, terms := range x {
		if y[pivot] != nil && !maps.Equal(terms, y[pivot]) {
			return false
		}
	}
	return true
}

func directed(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range text.Words(s) {
		if directions.Has(w) {
			set[w] = true
		}
	}
	return set
}

func differs(a, b map[string]bool) bool {
	for t := range a {
		if !b[t] && !common.Has(t) {
			return true
		}
	}
	return false
}

func numbers(s string) []string {
	ns := text.Numbers(s)
	slices.Sort(ns)
	return slices.Compact(ns)
}

func nameSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, name := range text.Names(s) {
		set[text.Fold(name)] = true
	}
	return set
}
