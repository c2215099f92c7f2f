package recall

import (
	"html"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/text"
)

// wrapInFence returns body between the fence's tags. No text in body can close or imitate the fence.
func wrapInFence(body string) string {
	return FenceOpen + "\n" + neutralizeTags(body) + "\n" + FenceClose
}

// neutralizeTags turns tags in s with the fence's name into plain text: it replaces their opening character by a
// parenthesis. It recognises such tags in any case, with spaces, escapes and look-alike letters.
func neutralizeTags(s string) string {
	var b strings.Builder
	copied := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf && !mayOpenTag(c) {
			i++
			continue
		}
		r, size := decodeCharacter(s[i:])
		if name, ok := tagNameStart(s, i+size, r); ok {
			b.WriteString(s[copied:i])
			b.WriteByte('(')
			i, copied = name, name
			continue
		}
		i += size
	}
	if copied == 0 {
		return s
	}
	b.WriteString(s[copied:])
	return b.String()
}

// mayOpenTag reports whether an ASCII character may open a tag or begin an escape.
func mayOpenTag(c byte) bool {
	switch c {
	case '<', '[', '{', '(', '&', '\\', '%':
		return true
	}
	return false
}

// The characters that may open, fill or close a tag, including look-alikes.
const (
	angles           = "<«˂‹≪≺⋖⋘\u2329\u3008❬❮❰⟨⟪⧼⪡⪻《﹤＜ᐸ"
	brackets         = "[{(［｛（【〔⟦"
	slashes          = "/\\⁄∕╱⟋⧸／＼﹨∖"
	closers          = ">＞›»"
	invisibleLetters = "ᅟᅠㅤﾠ" // letters that display as nothing
)

// maxGap is the maximum number of characters, other than white space, between the parts of a tag.
const maxGap = 24

// tagNameStart reports whether a tag that opens with the character opener and continues at s[start:] imitates the
// fence, and returns the index of its name. The bare name "memory" counts only in a closing tag, and brackets
// other than "<" count only with a slash.
func tagNameStart(s string, start int, opener rune) (int, bool) {
	isAngle := strings.ContainsRune(angles, opener)
	if !isAngle && !strings.ContainsRune(brackets, opener) {
		return 0, false
	}
	hasSlash := false
	for gap := 0; gap <= maxGap; {
		if (isAngle || hasSlash) && nameEnd(s[start:], "iocimemory") >= 0 {
			return start, true
		}
		if isAngle && hasSlash {
			if end := nameEnd(s[start:], "memory"); end >= 0 && !continuesWord(s[start+end:]) {
				return start, true
			}
		}
		r, size := decodeCharacter(s[start:])
		if size == 0 || isWordCharacter(r) || strings.ContainsRune(closers, r) {
			return 0, false
		}
		hasSlash = hasSlash || strings.ContainsRune(slashes, r)
		start += size
		if !unicode.IsSpace(r) {
			gap++
		}
	}
	return 0, false
}

// continuesWord reports whether s begins in the middle of a word.
func continuesWord(s string) bool {
	r, size := decodeCharacter(s)
	return size > 0 && (isWordCharacter(r) || r == '_')
}

// isWordCharacter reports whether r can be a part of a visible word.
func isWordCharacter(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsNumber(r)) && !strings.ContainsRune(invisibleLetters, r)
}

// nameEnd returns the end of a name at the start of s, or -1. Any characters except words and slashes may
// separate the letters of the name.
func nameEnd(s, name string) int {
	i := 0
	for k := range len(name) {
		for gap := 0; ; {
			r, size := decodeCharacter(s[i:])
			if size == 0 || gap > maxGap {
				return -1
			}
			if resembledLetter(r) == name[k] {
				i += size
				break
			}
			if k == 0 || isWordCharacter(r) || strings.ContainsRune(slashes+closers, r) {
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

// decodeCharacter returns the first character of s and its length in bytes; the length is 0 at the end. It
// decodes HTML, JSON and URL escapes.
func decodeCharacter(s string) (r rune, size int) {
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
		if r, _, rest, err := strconv.UnquoteChar(s, 0); err == nil {
			return r, len(s) - len(rest)
		}
	case '%':
		if plain, err := url.PathUnescape(s[:min(len(s), 3)]); err == nil && len(plain) == 1 && len(s) > 1 {
			return rune(plain[0]), 3
		}
	}
	return utf8.DecodeRuneInString(s)
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// resembledLetter returns the letter of the fence's name that r resembles, or 0. The characters l, 1 and | count as i.
func resembledLetter(r rune) byte {
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

// alphabetStarts are the code points of the letter A in the mathematical, enclosed and squared Latin alphabets.
var alphabetStarts = func() []rune {
	out := []rune{0x249c, 0x24b6, 0x24d0, 0x1f110, 0x1f130, 0x1f150, 0x1f170, 0x1f1e6}
	for r := rune(0x1d400); r <= 0x1d6a3; r += 26 { // capital and small letters
		out = append(out, r)
	}
	return out
}()

// lookalikes are characters of other scripts and styles that resemble a letter of the fence's name.
var lookalikes = sync.OnceValue(func() map[rune]byte {
	m := map[rune]byte{}
	for _, first := range alphabetStarts {
		for _, letter := range "iocmery" {
			m[first+letter-'a'] = byte(letter)
		}
		m[first+'l'-'a'] = 'i'
	}
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
