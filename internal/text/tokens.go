package text

import (
	"unicode"
	"unicode/utf8"
)

// Tokens estimates the number of tokens of s in a GPT-like tokenizer: within some 15 % for English
// prose, high for code and other scripts.
func Tokens(s string) int {
	tokens := 0
	for i := 0; i < len(s); {
		if s[i] == ' ' { // part of the next word
			i++
			continue
		}
		if end := lettersEnd(s, i); end > i {
			tokens += wordTokens(end - i)
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

// wordTokens is the number of tokens of an English word of n letters: common words of any length
// are one, rare long ones split into pieces of some six letters.
func wordTokens(n int) int {
	if n <= 9 {
		return 1
	}
	return (n + 5) / 8
}

// lettersEnd returns where the run of English letters at i ends, i if there is none.
func lettersEnd(s string, i int) int {
	for i < len(s) && 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z' {
		i++
	}
	return i
}

// runEnd returns the end of the run of runes that satisfy keep.
func runEnd(s string, i int, keep func(rune) bool) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !keep(r) {
			break
		}
		i += n
	}
	return i
}
