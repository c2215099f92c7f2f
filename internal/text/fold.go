package text

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Fold returns s in lower case without accents, with plain instead of full-width letters: "Café" and "CAFE"
// become equal.
func Fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		writeFolded(&b, r)
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func writeFolded(b *strings.Builder, r rune) {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		b.WriteByte(byte(r))
		return
	}
	if 0x300 <= r && r <= 0x36f { // combining accents
		return
	}
	if 0xff01 <= r && r <= 0xff5e { // full-width ASCII
		writeFolded(b, r-0xff01+'!')
		return
	}
	r = unicode.ToLower(r)
	if base, ok := accented()[r]; ok {
		b.WriteString(base)
		return
	}
	b.WriteRune(r)
}

// accented maps lower-case Latin letters to their base letters. "ü" becomes "u", because most people type "u"
// in searches.
var accented = sync.OnceValue(func() map[rune]string {
	groups := map[string]string{
		"a": "àáâãäåāăąǎạảấầẩẫậắằẳẵặ", "ae": "æ", "c": "çćĉċč", "d": "ďđð",
		"e": "èéêëēĕėęěẹẻẽếềểễệ", "g": "ĝğġģ", "h": "ĥħ", "i": "ìíîïĩīĭįıǐỉị",
		"j": "ĵ", "k": "ķ", "l": "ĺļľŀł", "n": "ñńņňŉ", "o": "òóôõöøōŏőǒọỏốồổỗộớờởỡợơ",
		"oe": "œ", "r": "ŕŗř", "s": "śŝşšșſ", "ss": "ß", "t": "ţťŧț", "th": "þ",
		"u": "ùúûüũūŭůűųǔụủứừửữựư", "w": "ŵ", "y": "ýÿŷỳỵỷỹ", "z": "źżž",
		"'": "’‘ʼ′", "\"": "“”„″", "-": "‐‑‒–—−",
	}
	m := map[rune]string{}
	for base, letters := range groups {
		for _, r := range letters {
			m[r] = base
		}
	}
	return m
})
