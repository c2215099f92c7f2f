package learn

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/text"
)

// locateQuote returns the position of a quote in s. It ignores case, white space, kinds of quotation marks and
// outer punctuation. Of a quote with gaps ("a … b") it finds only the longest piece.
func locateQuote(s, quote string) (text.Span, bool) {
	quote = strings.TrimSpace(quote)
	if quote == "" {
		return text.Span{}, false
	}
	if i := strings.Index(s, quote); i >= 0 {
		return text.Span{Start: i, End: i + len(quote)}, true
	}
	piece := ""
	for _, p := range strings.Split(strings.ReplaceAll(quote, "...", "…"), "…") {
		if len(p) > len(piece) {
			piece = p
		}
	}
	wanted, _ := normalizedQuote(piece)
	wanted = strings.TrimFunc(wanted, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) })
	if wanted == "" {
		return text.Span{}, false
	}
	loose, at := normalizedQuote(s)
	i := strings.Index(loose, wanted)
	if i < 0 {
		return text.Span{}, false
	}
	return text.Span{Start: at[i], End: at[i+len(wanted)]}, true
}

// normalizedQuote returns s in lower case with single spaces and plain quotation marks. It also returns, for
// each byte of the result, the offset in s; the last entry is the end of s.
func normalizedQuote(s string) (string, []int) {
	var b strings.Builder
	var at []int
	space := true
	for i, r := range s {
		if unicode.IsSpace(r) {
			if !space {
				b.WriteByte(' ')
				at = append(at, i)
			}
			space = true
			continue
		}
		space = false
		switch r {
		case '’', '‘', '`', '´':
			r = '\''
		case '“', '”', '„':
			r = '"'
		}
		r = unicode.ToLower(r)
		b.WriteRune(r)
		for range utf8.RuneLen(r) {
			at = append(at, i)
		}
	}
	return b.String(), append(at, len(s))
}
