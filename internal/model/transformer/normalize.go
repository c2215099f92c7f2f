package transformer

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// normalizerFile is a normalizer in tokenizer.json.
type normalizerFile struct {
	Type        string           `json:"type"`
	Normalizers []normalizerFile `json:"normalizers"` // steps of a normalizer of type Sequence

	// fields of a BertNormalizer
	CleanText       bool  `json:"clean_text"`
	SeparateChinese bool  `json:"handle_chinese_chars"`
	StripAccents    *bool `json:"strip_accents"` // nil uses the value of Lowercase
	Lowercase       bool  `json:"lowercase"`

	// fields of a Replace
	Pattern struct {
		String, Regex string
	} `json:"pattern"`
	Content string `json:"content"`

	// field of a Precompiled
	Charsmap string `json:"precompiled_charsmap"`

	// fields of a Strip
	StripLeft  bool `json:"strip_left"`
	StripRight bool `json:"strip_right"`
}

// steps returns the normalizer's steps, at least one. Each step appends the normalized s to dst.
func (n *normalizerFile) steps() ([]func(dst []byte, s string) []byte, error) {
	if n == nil {
		return []func([]byte, string) []byte{func(dst []byte, s string) []byte { return append(dst, s...) }}, nil
	}
	one := func(step func(dst []byte, s string) []byte) ([]func([]byte, string) []byte, error) {
		return []func([]byte, string) []byte{step}, nil
	}
	switch n.Type {
	case "BertNormalizer":
		return one(n.bertNormalizer())
	case "Sequence":
		var all []func([]byte, string) []byte
		for i := range n.Normalizers {
			steps, err := n.Normalizers[i].steps()
			if err != nil {
				return nil, err
			}
			all = append(all, steps...)
		}
		if len(all) > 0 {
			return all, nil
		}
	case "Replace": // only replacements that cannot make a text many times longer
		switch {
		case n.Pattern.String != "" && strings.Trim(n.Content, " ") == n.Pattern.String && len(n.Content) < 64:
			return one(func(dst []byte, s string) []byte {
				return append(dst, strings.ReplaceAll(s, n.Pattern.String, n.Content)...)
			})
		case n.Pattern.Regex == `\s+` && n.Content == " ":
			return one(joinSpaces)
		case n.Pattern.Regex == " {2,}" && len(n.Content) < 4: // Content is a space or ▁
			return one(func(dst []byte, s string) []byte { return replaceRuns(dst, s, n.Content) })
		}
	case "Precompiled":
		if n.Charsmap == "" {
			return (*normalizerFile)(nil).steps()
		}
		table, err := readCharsmap(n.Charsmap)
		if err != nil {
			return nil, err
		}
		return one(table.append)
	case "Strip":
		return one(func(dst []byte, s string) []byte {
			if n.StripLeft {
				s = strings.TrimLeftFunc(s, unicode.IsSpace)
			}
			if n.StripRight {
				s = strings.TrimRightFunc(s, unicode.IsSpace)
			}
			return append(dst, s...)
		})
	}
	return nil, fmt.Errorf("the normalizer %s with the pattern %q is not supported", n.Type, n.Pattern.String+n.Pattern.Regex)
}

// joinSpaces collapses each run of white space to one space.
func joinSpaces(dst []byte, s string) []byte {
	inside := false
	for _, r := range s {
		space := unicode.IsSpace(r)
		switch {
		case !space:
			dst = utf8.AppendRune(dst, r)
		case !inside:
			dst = append(dst, ' ')
		}
		inside = space
	}
	return dst
}

// replaceRuns replaces each run of two or more spaces by replacement.
func replaceRuns(dst []byte, s, replacement string) []byte {
	for {
		at := strings.Index(s, "  ")
		if at < 0 {
			return append(dst, s...)
		}
		dst = append(append(dst, s[:at]...), replacement...)
		s = strings.TrimLeft(s[at:], " ")
	}
}

// bertNormalizer returns BERT's normalizer, which removes control characters, accents, capitals and invalid
// bytes, converts white space to spaces, and separates Chinese characters.
//
// The result equals that of Hugging Face's tokenizers, except for some 570 recent characters, accents and
// punctuation of rare scripts that their Unicode tables lack, and for the order of accents that are not removed.
func (n *normalizerFile) bertNormalizer() func(dst []byte, s string) []byte {
	clean, chinese, lower := n.CleanText, n.SeparateChinese, n.Lowercase
	strip := lower
	if n.StripAccents != nil {
		strip = *n.StripAccents
	}
	return func(dst []byte, s string) []byte {
		for i := 0; i < len(s); {
			if c := s[i]; c < utf8.RuneSelf {
				i++
				switch {
				case clean && (c == '\t' || c == '\n' || c == '\r'):
					c = ' '
				case clean && (c < ' ' || c == 0x7f):
					continue
				case lower && c >= 'A' && c <= 'Z':
					c += 'a' - 'A'
				}
				dst = append(dst, c)
				continue
			}
			r, size := utf8.DecodeRuneInString(s[i:])
			i += size
			if clean {
				if r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) {
					continue
				}
				if unicode.IsSpace(r) {
					r = ' '
				}
			}
			if chinese && isChinese(r) {
				dst = append(dst, ' ')
				dst = appendNormalized(dst, r, strip, lower)
				dst = append(dst, ' ')
				continue
			}
			dst = appendNormalized(dst, r, strip, lower)
		}
		return dst
	}
}

// appendNormalized appends a character, without accents if strip is true and in lower case if lower is true.
func appendNormalized(dst []byte, r rune, strip, lower bool) []byte {
	if !strip {
		return appendLower(dst, r, lower)
	}
	if unicode.Is(unicode.Mn, r) {
		return dst
	}
	if r >= firstHangul && r < firstHangul+hangulCount {
		r -= firstHangul
		dst = utf8.AppendRune(dst, 0x1100+r/(21*28))
		dst = utf8.AppendRune(dst, 0x1161+r/28%21)
		if r%28 != 0 {
			dst = utf8.AppendRune(dst, 0x11a7+r%28)
		}
		return dst
	}
	if parts, ok := unaccented()[r]; ok {
		for _, p := range parts {
			dst = appendLower(dst, p, lower)
		}
		return dst
	}
	return appendLower(dst, r, lower)
}

// The first Korean syllable and the number of Korean syllables. Their decomposition is computed.
const (
	firstHangul = 0xac00
	hangulCount = 19 * 21 * 28
)

func appendLower(dst []byte, r rune, lower bool) []byte {
	switch {
	case !lower:
	case r == 'İ': // the only letter whose lower case has two characters
		return append(dst, "i̇"...)
	default:
		r = unicode.ToLower(r)
	}
	return utf8.AppendRune(dst, r)
}

// isChinese reports whether a character is in one of the Unicode blocks that BERT counts as Chinese. They do
// not include recent blocks.
func isChinese(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0x3400 && r <= 0x4dbf || r >= 0x20000 && r <= 0x2a6df ||
		r >= 0x2a700 && r <= 0x2b73f || r >= 0x2b740 && r <= 0x2b81f || r >= 0x2b920 && r <= 0x2ceaf ||
		r >= 0xf900 && r <= 0xfaff || r >= 0x2f800 && r <= 0x2fa1f
}

//go:embed unaccented.txt
var unaccentedFile string

// unaccented maps a character to its canonical decomposition without nonspacing marks (Mn), if the two
// differ.
var unaccented = sync.OnceValue(func() map[rune][]rune {
	out := map[rune][]rune{}
	for line := range strings.Lines(unaccentedFile) {
		var runes []rune
		for _, hex := range strings.Fields(line) {
			r, err := strconv.ParseUint(hex, 16, 32)
			if err != nil {
				panic("transformer: unaccented.txt: " + err.Error())
			}
			runes = append(runes, rune(r))
		}
		out[runes[0]] = runes[1:]
	}
	return out
})
