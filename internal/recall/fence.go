package recall

import (
	"html"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/text"
)

// fenced returns body within the fence. Nothing in body can close or imitate it.
func fenced(body string) string {
	return FenceOpen + "\n" + harmless(body) + "\n" + FenceClose
}

// harmless returns s with each tag named like the fence turned into plain text: what opens
// the tag, up to its name, becomes a parenthesis. Case, spacing, escapes and letters that
// only look alike make no difference. Other text stays as it is.
func harmless(s string) string {
	var b strings.Builder
	kept := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf && !mayOpen(c) {
			i++
			continue
		}
		r, size := glyph(s[i:])
		if name, ok := tagName(s, i+size, r); ok {
			b.WriteString(s[kept:i])
			b.WriteByte('(')
			i, kept = name, name
			continue
		}
		i += size
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// mayOpen reports whether an ASCII character opens a tag or begins an escape.
func mayOpen(c byte) bool {
	switch c {
	case '<', '[', '{', '(', '&', '\\', '%':
		return true
	}
	return false
}

// isAngle reports whether r looks like "<".
func isAngle(r rune) bool {
	switch r {
	case '<', '«', '˂', '‹', '≪', '≺', '⋖', '⋘', '\u2329', '\u3008', '❬', '❮', '❰', '⟨', '⟪', '⧼', '⪡', '⪻', '《', '﹤', '＜', 'ᐸ':
		return true
	}
	return false
}

// isBracket reports whether r is another bracket that begins a tag in some markup.
func isBracket(r rune) bool {
	switch r {
	case '[', '{', '(', '［', '｛', '（', '【', '〔', '⟦':
		return true
	}
	return false
}

func isSlash(r rune) bool {
	switch r {
	case '/', '\\', '⁄', '∕', '╱', '⟋', '⧸', '／', '＼', '﹨', '∖':
		return true
	}
	return false
}

func isCloser(r rune) bool { return r == '>' || r == '＞' || r == '›' || r == '»' }

// maxGap is how many characters other than white space may stand between the parts of a tag.
const maxGap = 24

// tagName returns where the name begins in a tag that opens with a character and goes on
// at s[i:], and whether that tag closes or imitates the fence. The bare name "memory" counts
// in a closing tag alone, and other brackets than "<" count with a slash.
func tagName(s string, i int, opener rune) (int, bool) {
	angle := isAngle(opener)
	if !angle && !isBracket(opener) {
		return 0, false
	}
	slash := false
	for gap := 0; gap <= maxGap; {
		if (angle || slash) && spells(s[i:], "iocimemory") >= 0 {
			return i, true
		}
		if angle && slash {
			if end := spells(s[i:], "memory"); end >= 0 && !goesOn(s[i+end:]) {
				return i, true
			}
		}
		r, size := glyph(s[i:])
		if size == 0 || isWordy(r) || isCloser(r) {
			return 0, false
		}
		slash = slash || isSlash(r)
		i += size
		if !unicode.IsSpace(r) {
			gap++
		}
	}
	return 0, false
}

// goesOn reports whether a word goes on with s.
func goesOn(s string) bool {
	r, size := glyph(s)
	return size > 0 && (isWordy(r) || r == '_')
}

// isWordy reports whether r is part of a word that people see.
func isWordy(r rune) bool {
	switch r {
	case 'ᅟ', 'ᅠ', 'ㅤ', 'ﾠ': // letters without a shape
		return false
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// spells returns where a name ends that s begins with, -1 if it does not. Anything but words
// and slashes may stand between its letters.
func spells(s, name string) int {
	i := 0
	for k := range len(name) {
		for gap := 0; ; {
			r, size := glyph(s[i:])
			if size == 0 || gap > maxGap {
				return -1
			}
			if looksLike(r) == name[k] {
				i += size
				break
			}
			if k == 0 || isWordy(r) || isSlash(r) || isCloser(r) {
				return -1
			}
			i += size
			if !unicode.IsSpace(r) {
				gap++
			}
		}
	}
	return i
}

// glyph returns the character that s begins with, or stands for in HTML, JSON or a URL, and
// its length; 0 at the end.
func glyph(s string) (r rune, size int) {
	if s == "" {
		return 0, 0
	}
	switch s[0] {
	case '&':
		end := 1
		for end < len(s) && end < 12 && (s[end] == '#' && end == 1 || isAlphanumeric(s[end])) {
			end++
		}
		if end < len(s) && s[end] == ';' {
			end++
		}
		if plain := html.UnescapeString(s[:end]); plain != s[:end] {
			r, size = utf8.DecodeRuneInString(plain)
			return r, max(1, end-(len(plain)-size))
		}
	case '\\':
		if len(s) > 1 && s[1] == 'u' && len(s) > 2 && s[2] == '{' {
			if end := strings.IndexByte(s[:min(len(s), 12)], '}'); end > 0 {
				return hexOr(s, 3, end, end+1)
			}
		}
		if len(s) > 1 && s[1] == 'u' {
			return hexOr(s, 2, 6, 6)
		}
		if len(s) > 1 && s[1] == 'x' {
			return hexOr(s, 2, 4, 4)
		}
	case '%':
		return hexOr(s, 1, 3, 3)
	}
	return utf8.DecodeRuneInString(s)
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// hexOr returns the character whose number is s[from:to] in an escape of that size; without
// one it returns the first character of s.
func hexOr(s string, from, to, size int) (rune, int) {
	if size <= len(s) {
		if n, err := strconv.ParseUint(s[from:to], 16, 21); err == nil {
			return rune(n), size
		}
	}
	return utf8.DecodeRuneInString(s)
}

// looksLike returns the letter of the fence's name that r looks like, 0 for none. Those for l
// and i look like each other.
func looksLike(r rune) byte {
	if base := unstyled(r); base > 0 {
		r = base
	}
	if r >= utf8.RuneSelf {
		if alike, ok := lookalikes()[r]; ok {
			return alike
		}
		folded := text.Fold(string(r))
		if len(folded) != 1 {
			return 0
		}
		r = rune(folded[0])
	}
	switch r |= 0x20; r {
	case 'i', 'l', '1', '|':
		return 'i'
	case '0', 'o':
		return 'o'
	case 'c', 'e', 'm', 'r', 'y':
		return byte(r)
	}
	return 0
}

// alphabets are where the enclosed and squared Latin letters begin, from A on.
var alphabets = [...]rune{0x249c, 0x24b6, 0x24d0, 0x1f110, 0x1f130, 0x1f150, 0x1f170, 0x1f1e6}

// unstyled returns the plain letter of a mathematical, enclosed or squared Latin one, 0 for others.
func unstyled(r rune) rune {
	if 0x1d400 <= r && r <= 0x1d6a3 { // alphabets in capitals and small letters
		return 'A' + (r-0x1d400)%26
	}
	for _, a := range alphabets {
		if a <= r && r < a+26 {
			return 'A' + r - a
		}
	}
	return 0
}

// lookalikes are characters of other scripts and styles that look like a letter of the fence's name.
var lookalikes = sync.OnceValue(func() map[rune]byte {
	m := map[rune]byte{}
	for letter, alike := range map[byte]string{
		'i': "ⅼⅬⅰⅠІіӀӏΙιℓℒℐℑιɩɪʟᎥᏞⲓⲒǀ∣｜ɭɫɬƖ׀וןاⵏᛁߊ𐊊𐌉𝟏𝟙𝟣𝟭𝟷ˡⁱᵢₗᴵᴸ①¹",
		'o': "ОоΟοσօՕоⲟⲞᴏ०੦૦௦౦೦൦๐໐၀٥۵〇○◯ℴºᵒₒᴼ⓪⁰₀𝟎𝟘𝟢𝟬𝟶",
		'c': "СсϹϲⅽⅭᴄⲥⲤℂℭƈᏟꮯᶜ¢©",
		'e': "ЕеҽєЄεΕℯℰℇⅇᴇꭼⲉϵᎬᵉₑᴱ℮€",
		'm': "МмΜⅿⅯᴍℳⲙⲘᎷꮇᵐₘᴹɱ",
		'r': "гᴦʀᴙℛℜℝꭇꭈⲅᏒᖇᎡʳᵣᴿɾɼ",
		'y': "УуҮүγΥϒʏყᶌỿɣⲩⲨʸᎩ¥",
	} {
		for _, r := range alike {
			m[r] = letter
		}
	}
	return m
})
