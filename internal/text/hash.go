package text

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

// Normalize returns s for finding exact duplicates: folded, with single spaces, and without final punctuation.
func Normalize(s string) string {
	s = strings.Join(strings.Fields(Fold(s)), " ")
	return strings.TrimRightFunc(s, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) })
}

// Hash returns 32 hex digits that are equal for texts with equal [Normalize] results.
func Hash(s string) string {
	sum := sha256.Sum256([]byte(Normalize(s)))
	return hex.EncodeToString(sum[:16])
}
