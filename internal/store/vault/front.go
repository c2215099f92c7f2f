package vault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/loci-memory/loci/internal/lazy"
)

// maxFront bounds front matter.
const maxFront = 64 << 10

// page is a file in two: what stands between two lines of "---" at its beginning,
// and the rest. The rest is a memory's words and one line end, whether they end in
// one themselves or not: so they come back byte for byte, and editors that end
// every file in a line end change nothing.
type page struct {
	mark  string // before the first line: nothing, or the sign that some editors begin UTF-8 with
	front string // the lines between, each with its end; "" without front matter
	end   string // how its lines end
	has   bool   // there is front matter
	body  string
}

const byteOrderMark = "\ufeff"

// split reads a file's two parts. It takes any text.
func split(text string) page {
	p := page{end: "\n"}
	rest := text
	if t, ok := strings.CutPrefix(text, byteOrderMark); ok {
		p.mark, rest = byteOrderMark, t
	}
	first, after, ok := cutLine(rest)
	if !ok || strings.TrimRight(first, " \t\r\n") != "---" {
		p.body = rest
		return p
	}
	if strings.HasSuffix(first, "\r\n") {
		p.end = "\r\n"
	}
	var front strings.Builder
	for after != "" {
		l, next, _ := cutLine(after)
		if strings.TrimRight(l, " \t\r\n") == "---" {
			p.has, p.front, p.body = true, front.String(), next
			return p
		}
		front.WriteString(l)
		after = next
	}
	p.body, p.end = rest, "\n" // it never ended: the file is all words
	return p
}

// cutLine returns the first line with its end, and what follows.
func cutLine(text string) (first, rest string, ended bool) {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:], true
	}
	return text, "", false
}

// words returns what the body says: all but the line end that closes the file.
func (p page) words() string {
	if w, ok := strings.CutSuffix(p.body, "\r\n"); ok && p.end == "\r\n" {
		return w
	}
	return strings.TrimSuffix(p.body, "\n")
}

// String puts the file together.
func (p page) String() string {
	if !p.has {
		return p.mark + p.body
	}
	return p.mark + "---" + p.end + p.front + "---" + p.end + p.body
}

// field is a key of front matter that is Loci's, with its value in YAML on one
// line. A value "" means that the key is not to be there.
type field struct{ key, value string }

// with returns the page with these fields and words, everything else as it was:
// lines of other keys, comments, order, and lines whose value stays the same.
func (p page) with(fields []field, words string) page {
	out := page{mark: p.mark, end: p.end, has: true, body: words + p.bodyEnd(words)}
	left := slices.Clone(fields)
	var front strings.Builder
	for _, piece := range pieces(p.front) {
		ours := slices.ContainsFunc(fields, func(f field) bool { return f.key == piece.key })
		i := slices.IndexFunc(left, func(f field) bool { return f.key == piece.key })
		switch {
		case piece.key == "" || !ours:
			front.WriteString(piece.text)
			continue
		case i < 0: // it stands there twice
			continue
		}
		f := left[i]
		left = slices.Delete(left, i, i+1)
		switch {
		case f.value == "":
		case piece.says(f):
			front.WriteString(strings.TrimRight(piece.text, "\r\n") + p.end)
		default:
			front.WriteString(f.key + ": " + f.value + piece.comment() + p.end)
		}
	}
	for _, f := range left {
		if f.value != "" {
			front.WriteString(f.key + ": " + f.value + p.end)
		}
	}
	out.front = front.String()
	return out
}

// says reports whether the piece has the field's value, however it is written.
func (p piece) says(f field) bool {
	ours := f.key + ": " + f.value
	if strings.TrimRight(p.text, "\r\n") == ours {
		return true
	}
	stands, err := readFront(p.text)
	if err != nil || len(stands) != 1 {
		return false
	}
	wanted, err := readFront(ours + "\n")
	return err == nil && stands[f.key].meaning() == wanted[f.key].meaning()
}

// rewritten is with, unless what comes out would not say these fields and all that
// other keys said: then front matter is written in a way that is not understood here,
// and it must not be touched.
func (p page) rewritten(fields []field, words string) (out page, ok bool) {
	out = p.with(fields, words)
	if !p.has {
		return out, true
	}
	now, err := readFront(out.front)
	if err != nil {
		return page{}, false
	}
	var ours strings.Builder
	for _, f := range fields {
		if f.value != "" {
			ours.WriteString(f.key + ": " + f.value + "\n")
		}
	}
	wanted, err := readFront(ours.String())
	if err != nil {
		return page{}, false
	}
	same := func(a, b value) bool { return a.meaning() == b.meaning() }
	if out.front == p.front && len(now) == len(wanted) {
		return out, maps.EqualFunc(now, wanted, same)
	}
	was, err := readFront(p.front)
	if err != nil {
		return page{}, false
	}
	for _, f := range fields {
		delete(was, f.key)
	}
	for key, v := range wanted {
		was[key] = v
	}
	return out, maps.EqualFunc(now, was, same)
}

// bodyEnd closes the file as it was closed, if its words would be read back so.
func (p page) bodyEnd(words string) string {
	end := "\n"
	if p.has && p.end == "\r\n" {
		end = "\r\n"
	}
	if p.has && p.body == words && (page{end: p.end, body: words}).words() == words {
		return "" // an editor that leaves the end away
	}
	return end
}

// piece is a key with all its lines, or lines of none.
type piece struct{ key, text string }

var (
	keyLine     = lazy.Compile(`^([A-Za-z_][A-Za-z0-9_]*):(?:[ \t\r\n]|$)`)
	otherKey    = lazy.Compile(`^[^\s\-\]}][^:]*:(?:[ \t\r\n]|$)`)
	lineComment = lazy.Compile(`[ \t]+#[^"'\r\n]*[\r\n]*$`)
)

// pieces cuts front matter at its top-level keys. Comments and blank lines after
// a key's lines are pieces of their own.
func pieces(front string) []piece {
	var out []piece
	var loose strings.Builder // lines that may belong to the last key or stand alone
	flush := func() {
		if loose.Len() > 0 {
			out = append(out, piece{text: loose.String()})
			loose.Reset()
		}
	}
	for front != "" {
		l, rest, _ := cutLine(front)
		front = rest
		switch m := keyLine.FindStringSubmatch(l); {
		case m != nil:
			flush()
			out = append(out, piece{m[1], l})
		case strings.TrimSpace(l) == "" || l[0] == '#':
			loose.WriteString(l)
		case !otherKey.MatchString(l) && len(out) > 0 && out[len(out)-1].key != "":
			out[len(out)-1].text += loose.String() + l
			loose.Reset()
		default: // a key that is written in another way: not Loci's
			flush()
			out = append(out, piece{text: l})
		}
	}
	flush()
	return out
}

// comment is what stands behind a value on its line, for people.
func (p piece) comment() string {
	if strings.Count(p.text, "\n") > 1 {
		return ""
	}
	return strings.TrimRight(lineComment.FindString(p.text), "\r\n")
}

// value is a YAML scalar's text or a list of them. One that is neither is known to be
// there, so that nobody takes it for one that was deleted.
type value struct {
	text string
	list []string
	many bool
	odd  string // what it is instead, for people; "" for a scalar or a list of them
}

// meaning tells values apart, but for odd ones.
func (v value) meaning() string {
	switch {
	case v.odd != "":
		return "odd\x00"
	case v.many:
		return "list\x00" + strings.Join(v.list, "\x00")
	}
	return "text\x00" + v.text
}

// called is what stands there, for people.
func (v value) called() string {
	switch {
	case v.odd != "":
		return v.odd
	case v.many:
		return "a list"
	}
	return strconv.Quote(v.text)
}

// readFront reads the top-level keys. Aliases are not followed.
func readFront(front string) (values frontMatter, err error) {
	if len(front) > maxFront {
		return nil, fmt.Errorf("front matter of %d bytes; at most %d", len(front), maxFront)
	}
	defer func() {
		if p := recover(); p != nil { // a fault of the parser is one of the file's
			values, err = nil, fmt.Errorf("front matter that cannot be read: %v", p)
		}
	}()
	values = frontMatter{}
	if strings.TrimSpace(front) == "" {
		return values, nil
	}
	file, err := parser.ParseBytes(bytes.ReplaceAll([]byte(front), []byte("\r\n"), []byte("\n")), 0)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("front matter is not YAML: %s", first)
	}
	for _, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.CommentGroupNode:
		case *ast.MappingNode:
			for _, pair := range body.Values {
				values.add(pair)
			}
		case *ast.MappingValueNode:
			values.add(body)
		default:
			return nil, fmt.Errorf("front matter is not keys and values but a %s", body.Type())
		}
	}
	return values, nil
}

// valueIn returns what a file says under a key, "" for nothing.
func valueIn(text, key string) string {
	values, err := readFront(split(text).front)
	if err != nil {
		return ""
	}
	return values[key].text
}

// frontMatter is what front matter says, by key.
type frontMatter map[string]value

func (m frontMatter) add(pair *ast.MappingValueNode) {
	key, ok := scalar(pair.Key)
	if !ok {
		return
	}
	m[key] = valueOf(pair.Value)
}

func valueOf(n ast.Node) value {
	if text, ok := scalar(n); ok {
		return value{text: text}
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return value{odd: oddly(n)}
	}
	v := value{many: true}
	for _, item := range seq.Values {
		text, ok := scalar(item)
		switch {
		case !ok && item.Type() == ast.SequenceType:
			return value{odd: "a list within a list, as [[…]] is without quotes"}
		case !ok:
			return value{odd: "a list with " + oddly(item) + " in it"}
		}
		v.list = append(v.list, text)
	}
	return v
}

// oddly is what a value is that is neither a scalar nor a list.
func oddly(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys and values"
	case *ast.AliasNode, *ast.AnchorNode, *ast.TagNode:
		return "an alias, an anchor or a tag"
	}
	return fmt.Sprintf("a %s of YAML", n.Type())
}

// scalar returns a scalar's text: of a string what it says, of other scalars how
// they are written.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.NullNode:
		return "", true
	case *ast.MappingKeyNode, *ast.AliasNode, *ast.AnchorNode, *ast.TagNode: // which are scalars to the parser
		return "", false
	case ast.ScalarNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// quoted is a text in YAML, on one line.
func quoted(text string) string {
	if plain.MatchString(text) && !words[strings.ToLower(text)] {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b) // a JSON string is a YAML one
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can always be said
	return strings.TrimSuffix(b.String(), "\n")
}

var plain = lazy.Compile(`^[A-Za-z][A-Za-z0-9_./+-]*$`)

// words mean something else in YAML.
var words = map[string]bool{
	"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true,
	"inf": true, "nan": true, "nil": true,
}

// listed is a list in YAML, "" for none.
func listed(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	quotes := make([]string, len(texts))
	for i, t := range texts {
		quotes[i] = quoted(t)
	}
	return "[" + strings.Join(quotes, ", ") + "]"
}
