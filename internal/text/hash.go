package text

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

// Normalize returns s in the form in which exact duplicates are equal: folded, white space
// collapsed to single spaces, and without punctuation at its end.
func Normalize(s string) string {
	s = strings.Join(strings.Fields(Fold(s)), " ")
	return strings.TrimRightFunc(s, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) })
}

// Hash returns 32 hex digits that are equal for texts with the same [Normalize].
func Hash(s string) string {
	sum := sha256.Sum256([]byte(Normalize(s)))
	return hex.EncodeToString(sum[:16])
}
