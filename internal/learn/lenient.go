package learn

import (
	"strings"
	"unicode/utf8"
)

// maxDepth bounds nesting; no reply of use comes near it.
const maxDepth = 32

// lenient reads JSON as models write it: with trailing or missing commas,
// comments, single and curly quotes, quotes in quotes, bare words, line breaks in
// strings, and cut off at any point. Values are object, []any, string, nil, and bare
// for numbers, booleans and words without quotation marks. A string that was cut off
// is left out, so that what remains is whole.
type lenient struct {
	s     string
	i     int
	depth int
	cut   bool // something was not closed
}

// object is a JSON object in the order written, with keys in lower case.
type object []entry

type entry struct {
	key   string
	value any
}

// get returns the first value of a key.
func (o object) get(key string) (v any, ok bool) {
	for _, e := range o {
		if e.key == key {
			return e.value, true
		}
	}
	return nil, false
}

// bare is what stands without quotation marks.
type bare string

// value reads one value. ok is false if there is none or it was cut off.
func (l *lenient) value() (v any, ok bool) {
	l.space()
	if l.i >= len(l.s) || l.depth >= maxDepth {
		return nil, false
	}
	switch c := l.s[l.i]; c {
	case '{':
		return l.object(), true
	case '[':
		return l.array(), true
	case '"', '\'':
		return l.text(string(c))
	}
	for open, end := range map[string]string{"“": "”", "‘": "’", "„": "“"} {
		if strings.HasPrefix(l.s[l.i:], open) {
			l.i += len(open) - 1
			return l.text(end)
		}
	}
	return l.word()
}

func (l *lenient) object() object {
	l.i++
	l.depth++
	defer func() { l.depth-- }()
	out := object{}
	for !l.closed('}') {
		start := l.i
		key, ok := l.value()
		name, isText := textOf(key)
		l.space()
		if !ok || !isText || !l.take(':') {
			if l.i == start || !ok {
				l.i++ // no key begins here: look further on
			}
			continue
		}
		if v, ok := l.value(); ok {
			out = append(out, entry{strings.ToLower(strings.TrimSpace(name)), v})
		}
	}
	return out
}

// textOf returns a value that is written as text, quoted or bare.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bare:
		return string(v), true
	}
	return "", false
}

func (l *lenient) array() []any {
	l.i++
	l.depth++
	defer func() { l.depth-- }()
	out := []any{}
	for !l.closed(']') {
		start := l.i
		if v, ok := l.value(); ok {
			out = append(out, v)
		}
		if l.i == start {
			l.i++
		}
	}
	return out
}

// closed skips what stands between entries and reports whether the container
// ends here, at its bracket or at the end of the text.
func (l *lenient) closed(bracket byte) bool {
	for {
		l.space()
		if l.i >= len(l.s) {
			l.cut = true
			return true
		}
		if l.take(bracket) {
			return true
		}
		if !l.take(',') {
			return false
		}
	}
}

func (l *lenient) take(c byte) bool {
	if l.i < len(l.s) && l.s[l.i] == c {
		l.i++
		return true
	}
	return false
}

// space skips white space and comments.
func (l *lenient) space() {
	for l.i < len(l.s) {
		rest := l.s[l.i:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			l.i++
		case strings.HasPrefix(rest, "//"):
			l.i += length(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			l.i += length(rest, "*/")
		default:
			return
		}
	}
}

// length returns how far s reaches up to and with end.
func length(s, end string) int {
	if i := strings.Index(s, end); i >= 0 {
		return i + len(end)
	}
	return len(s)
}

// text reads a string up to the quotation mark that ends it.
func (l *lenient) text(end string) (any, bool) {
	var b strings.Builder
	for l.i++; l.i < len(l.s); l.i++ {
		switch {
		case strings.HasPrefix(l.s[l.i:], end) && !l.inner(end):
			l.i += len(end)
			return b.String(), true
		case l.s[l.i] == '\\':
			l.escape(&b)
		default:
			b.WriteByte(l.s[l.i])
		}
	}
	l.cut = true
	return nil, false
}

// inner reports whether the quotation mark at l.i stands in the middle of a text,
// as in 'User's dog' and "the "best" one": a word goes on behind it, and another
// mark ends the text on this line.
func (l *lenient) inner(end string) bool {
	rest := l.s[l.i+len(end):]
	after := strings.TrimPrefix(rest, " ")
	if after == "" || !isLetter(after[0]) && !digit(after[0]) {
		return false
	}
	rest = rest[:min(len(rest), innerReach)]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	i := strings.Index(rest, end)
	if i < 0 {
		return false
	}
	return !strings.HasPrefix(strings.TrimLeft(rest[i+len(end):], " "), ":") // then it begins a key
}

// innerReach is how far behind a mark the end of its text is looked for.
const innerReach = 300

// escape reads the escape at l.i and leaves l.i on its last byte.
func (l *lenient) escape(b *strings.Builder) {
	l.i++
	if l.i >= len(l.s) {
		return
	}
	switch c := l.s[l.i]; c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r', 'b', 'f':
		b.WriteByte(' ')
	case 'u':
		r := l.hex(l.i + 1)
		if r < 0 {
			return // not four digits: they are read as they stand
		}
		l.i += 4
		if low := l.hex(l.i + 3); 0xd800 <= r && r < 0xdc00 && strings.HasPrefix(l.s[l.i+1:], `\u`) && 0xdc00 <= low && low < 0xe000 {
			r = (r-0xd800)<<10 + (low - 0xdc00) + 0x10000
			l.i += 6
		}
		b.WriteRune(r) // a lone surrogate becomes the replacement character
	default:
		b.WriteByte(c)
	}
}

// hex reads four hex digits at i, -1 if there are none.
func (l *lenient) hex(i int) rune {
	if i+4 > len(l.s) {
		return -1
	}
	var r rune
	for _, c := range []byte(l.s[i : i+4]) {
		d := strings.IndexByte("0123456789abcdef", c|0x20)
		if d < 0 {
			return -1
		}
		r = r<<4 | rune(d)
	}
	return r
}

// word reads a number, a literal or an unquoted word up to the next delimiter.
func (l *lenient) word() (any, bool) {
	start := l.i
	for l.i < len(l.s) && strings.IndexByte(",:{}[]\"\r\n", l.s[l.i]) < 0 {
		_, n := utf8.DecodeRuneInString(l.s[l.i:])
		l.i += n
	}
	w := strings.TrimSpace(l.s[start:l.i])
	switch w {
	case "":
		return nil, false
	case "null", "None":
		return nil, true
	}
	return bare(w), l.i < len(l.s) // at the end of the text it may be cut off
}
