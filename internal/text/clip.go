package text

import "strings"

// Clip returns the front of s, at most n bytes of whole characters.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
