package text

import (
	"unicode"
	"unicode/utf8"
)

// EstimateTokens estimates the number of tokens of s for GPT-like tokenizers: within about 15 % for English prose,
// too high for code and other scripts.
func EstimateTokens(s string) int {
	tokens := 0
	for i := 0; i < len(s); {
		if s[i] == ' ' { // the space is part of the next word's token
			i++
			continue
		}
		if end := lettersEnd(s, i); end > i {
			tokens += wordTokenCount(end - i)
			i = end
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case '0' <= r && r <= '9':
			end := runEnd(s, i, unicode.IsDigit)
			tokens += (end - i + 2) / 3
			i = end
		case unicode.IsLetter(r) || unicode.IsMark(r):
			tokens++
			i += n
		default:
			tokens++
			end := runEnd(s, i, func(next rune) bool { return next == r })
			i = max(end, i+n)
		}
	}
	return tokens
}

// wordTokenCount returns the number of tokens of an English word with this number of letters. A common word of
// any length is one token; a rare long word is split into pieces of about six letters.
func wordTokenCount(letters int) int {
	if letters <= 9 {
		return 1
	}
	return (letters + 5) / 8
}

// lettersEnd returns the end of the run of English letters at i, or i if there is none.
func lettersEnd(s string, i int) int {
	for i < len(s) && 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z' {
		i++
	}
	return i
}

// runEnd returns the end of the run of characters for which accepts returns true.
func runEnd(s string, i int, accepts func(rune) bool) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !accepts(r) {
			break
		}
		i += n
	}
	return i
}
