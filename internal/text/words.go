package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWordBytes is the maximum length of a word in bytes. Longer words, mostly keys and codes, are cut off.
const maxWordBytes = 48

// Words returns the folded words of s in order: runs of letters, digits and combining marks. It drops
// possessive and contracted endings ("Ana's", "I'm"), turns n't into the word "not", and removes thousands
// separators. Scripts without spaces give overlapping pairs of characters, and isolated characters.
func Words(s string) []string {
	out := make([]string, 0, len(s)/5)
	EachWord(s, func(w string) { out = append(out, w) })
	return out
}

// EachWord calls yield for every word that [Words] returns.
func EachWord(s string, yield func(word string)) {
	s = Fold(s)
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf { // most text is ASCII
			if !isWordASCII[c] {
				i++
				continue
			}
			end := wordEnd(s, i)
			i = end + yieldParts(s[i:end], s[end:], yield)
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !isWordRune(r) {
			i += n
			continue
		}
		if IsUnspacedScript(r) {
			i = eachCharacterPair(s, i, yield)
			continue
		}
		end := wordEnd(s, i)
		i = end + yieldParts(s[i:end], s[end:], yield)
	}
}

// isWordASCII is true for ASCII letters and digits.
var isWordASCII = func() (table [utf8.RuneSelf]bool) {
	for c := range table {
		table[c] = 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z'
	}
	return table
}()

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 0 && isWordASCII[r]
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.M)
}

// IsUnspacedScript reports whether r belongs to a script without spaces, or to Korean, whose word endings also need pairs.
func IsUnspacedScript(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// IsUnspacedCharacter reports whether a term is a single character of a script without spaces.
func IsUnspacedCharacter(term string) bool {
	r, n := utf8.DecodeRuneInString(term)
	return n == len(term) && IsUnspacedScript(r)
}

// HasIsolatedCharacter reports whether a text contains a character of a script without spaces, without an adjacent
// character of such a script.
func HasIsolatedCharacter(s, character string) bool {
	for from := 0; ; {
		at := strings.Index(s[from:], character)
		if at < 0 {
			return false
		}
		at += from
		from = at + len(character)
		before, _ := utf8.DecodeLastRuneInString(s[:at])
		after, _ := utf8.DecodeRuneInString(s[from:])
		if !IsUnspacedScript(before) && !IsUnspacedScript(after) {
			return true
		}
	}
}

// eachCharacterPair yields the character pairs of the run at i in a script without spaces, and returns the end of the
// run. It also yields isolated characters, and Chinese characters between Japanese kana.
func eachCharacterPair(s string, i int, yield func(string)) int {
	prev, prevIsHan := -1, false // the index of the previous character, or -1, and whether that character is Chinese
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !IsUnspacedScript(r) {
			break
		}
		if prev >= 0 {
			yield(s[prev : i+n])
		}
		next, _ := utf8.DecodeRuneInString(s[i+n:])
		han := unicode.Is(unicode.Han, r)
		if han && !prevIsHan && !unicode.Is(unicode.Han, next) || prev < 0 && !IsUnspacedScript(next) {
			yield(s[i : i+n])
		}
		prev, prevIsHan, i = i, han, i+n
	}
	return i
}

// wordEnd returns the end of the word at i in a script with spaces. A word includes points and commas between digits.
func wordEnd(s string, i int) int {
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf && isWordASCII[c] {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if isWordRune(r) && !IsUnspacedScript(r) || (r == '.' || r == ',') && isDigitAt(s, i-1) && isDigitAt(s, i+1) {
			i += n
			continue
		}
		break
	}
	return i
}

func isDigitAt(s string, i int) bool { return i >= 0 && i < len(s) && '0' <= s[i] && s[i] <= '9' }

// yieldParts yields a word and, for "n't" at the start of rest, the word "not". It returns the length of the
// contraction in rest.
func yieldParts(word, rest string, yield func(string)) int {
	if strings.IndexByte(word, ',') >= 0 {
		word = strings.ReplaceAll(word, ",", "")
	}
	ending := contractedEnding(rest)
	if ending == "t" && strings.HasSuffix(word, "n") {
		yieldWord(negatedVerb(word), yield)
		yield("not")
		return 2
	}
	yieldWord(word, yield)
	if ending == "" || ending == "t" {
		return 0
	}
	return 1 + len(ending)
}

// contractedEnding returns the letters of the contracted ending at the start of rest, or "".
func contractedEnding(rest string) string {
	if len(rest) < 2 || rest[0] != '\'' {
		return ""
	}
	end := wordEnd(rest, 1)
	switch rest[1:end] {
	case "s", "m", "re", "ve", "ll", "d", "t":
		return rest[1:end]
	}
	return ""
}

// negatedVerb returns the verb of a word before 't: "don", "can" and "won" give "do", "can" and "will".
func negatedVerb(word string) string {
	switch word {
	case "can":
		return word
	case "won":
		return "will"
	case "shan":
		return "shall"
	}
	return word[:len(word)-1]
}

func yieldWord(word string, yield func(string)) {
	if len(word) > maxWordBytes {
		cut := maxWordBytes
		for cut > 0 && !utf8.RuneStart(word[cut]) {
			cut--
		}
		word = word[:cut]
	}
	if word != "" {
		yield(word)
	}
}
