package learn

import (
	"maps"
	"regexp"
	"slices"

	"github.com/loci-memory/loci/internal/text"
)

// denies are words that deny without a negation.
var denies = regexp.MustCompile(`(?i)\b(?:quit|stop(?:ped|s)?|gave up|given up|used to|hates?|dislikes?|avoids?|avoiding|refuse|except|anymore|former|formerly|ex|cancel\w*|left|lost|broke|allerg\w*|intoleran\w*|vegan|vegetarian|free|rather than|instead of|but|barely|hardly|lack\w*|unable|isn)\b`)

// common are terms that two facts may differ in and still say the same. Any other
// word that only one of them has makes a difference.
var common = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range []string{
		"live", "reside", "based", "located", "work", "employed", "job", "has", "own", "owns", "use", "uses", "like", "love", "enjoy",
		"prefer", "called", "named", "name", "really", "very", "much", "currently", "now", "also", "always", "still", "lot",
		"fact", "person", "someone", "goes", "go", "keep", "keeps", "married", "wife", "thing", "things",
	} {
		if t := text.Term(w); t != "" {
			m[t] = true
		}
	}
	return m
}()

// silent are terms that are compared apart: who it is about, and negation.
var silent = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range []string{"user", "longer", "anymore", "never", "no", "none", "nothing"} {
		m[text.Term(w)] = true
	}
	return m
}()

// termSet returns the terms that tell what s is about.
func termSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, t := range text.Terms(s) {
		if !silent[t] {
			set[t] = true
		}
	}
	return set
}

// agree reports whether two facts that look alike say the same: numbers, dates,
// names, negation and all but common words (SPEC 3.6).
func agree(a, b string) bool {
	return text.Negated(a) == text.Negated(b) &&
		denies.MatchString(a) == denies.MatchString(b) &&
		slices.Equal(numbers(a), numbers(b)) &&
		maps.Equal(nameSet(a), nameSet(b)) &&
		!differs(termSet(a), termSet(b)) && !differs(termSet(b), termSet(a))
}

func differs(a, b map[string]bool) bool {
	for t := range a {
		if !b[t] && !common[t] {
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
