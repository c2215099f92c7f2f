package text

import (
	"slices"
	"strings"
)

// ContainsAny reports whether s, in lower case, contains one of the words. Callers use it before slow regular
// expressions.
func ContainsAny(s string, words ...string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}
