package text

import (
	"strings"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// Span is a part of a string: bytes [Start, End).
type Span struct{ Start, End int }

// Slice returns the span's part of s.
func (p Span) Slice(s string) string { return s[p.Start:p.End] }

// Sentences returns the sentences of s in order, without surrounding white space. A line break ends
// a sentence, as in chat messages.
func Sentences(s string) []Span {
	var out []Span
	start := 0
	for line := range strings.SplitAfterSeq(s, "\n") {
		it := sentences.FromString(line)
		for it.Next() {
			piece := it.Value()
			lead := len(piece) - len(strings.TrimLeft(piece, " \t\r\n"))
			if body := strings.TrimSpace(piece); body != "" {
				at := start + it.Start() + lead
				out = append(out, Span{at, at + len(body)})
			}
		}
		start += len(line)
	}
	return out
}

// Clip returns the beginning of s: whole characters of at most maxBytes bytes in total.
func Clip(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	return strings.ToValidUTF8(s[:maxBytes], "")
}
