package text

import (
	"slices"
	"strings"
)

// ContainsAny reports whether s contains one of the words, ignoring case. Callers use it to avoid slow
// regular expressions.
func ContainsAny(s string, words ...string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}
