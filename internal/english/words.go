package english

import (
	"strings"
	"unicode"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// minWordsBeforeClause is the minimum number of words before a conjunction that begins another clause.
const minWordsBeforeClause = 5

// clauseConjunctions begin a clause.
var clauseConjunctions = lazy.Words("and but so because cause coz cuz anyway then while although though or und aber weil dann pero porque entonces")

// wordLength returns the length of the word at the beginning of s, or 0.
func wordLength(s string) int {
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !(i > 0 && (r == '\'' || r == '’')) {
			return i
		}
	}
	return len(s)
}

// endsClause reports whether the character s[i:i+n] ends a clause. The comma in a number and the hyphen in a
// word do not end clauses.
func endsClause(s string, i, n int) bool {
	after := byte(' ')
	if i+n < len(s) {
		after = s[i+n]
	}
	switch s[i : i+n] {
	case ",", ";", ":", ".", "!", "?":
		return after == ' ' || after == '\t'
	case "，", "；", "：", "、", "。", "？", "！", "—", "…", "(", ")":
		return true
	case "-", "–":
		return after == ' ' && i > 0 && s[i-1] == ' '
	}
	return false
}

func trimSpan(s string, span text.Span) text.Span {
	for span.Start < span.End && strings.IndexByte(" \t\r\n,;:-", s[span.Start]) >= 0 {
		span.Start++
	}
	for span.End > span.Start && strings.IndexByte(" \t\r\n", s[span.End-1]) >= 0 {
		span.End--
	}
	return span
}
