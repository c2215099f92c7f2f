package text

import (
	"slices"
	"strings"
)

// Holds reports whether s has one of the words in any case. Callers use it to skip slow
// expressions.
func Holds(s string, words ...string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}
