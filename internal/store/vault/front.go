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

// maxFrontBytes limits the size of front matter.
const maxFront = 64 << 10

// fileParts is a file in two parts: front matter between two lines of "---", and a memory's text
// with one line end added. The added line end keeps a text byte for byte, since editors end every
// file with a line end.
type page struct {
	mark  string // byte order mark, or ""
	front string // lines of the front matter with their line ends
	end   string // line end of the file: "\n" or "\r\n"
	has   bool   // whether the file has front matter
	body  string // text after the front matter
}

const byteOrderMark = "\ufeff"

// splitFile splits a file into its parts. It accepts any text.
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
	p.body, p.end = rest, "\n" // the front matter has no end: the file is all text
	return p
}

// cutLine returns the first line with its line end, and the text after the line.
func cutLine(text string) (first, rest string, ended bool) {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:], true
	}
	return text, "", false
}

// text returns the body without the final line end.
func (p page) words() string {
	if w, ok := strings.CutSuffix(p.body, "\r\n"); ok && p.end == "\r\n" {
		return w
	}
	return strings.TrimSuffix(p.body, "\n")
}

// String joins the file's parts.
func (p page) String() string {
	if !p.has {
		return p.mark + p.body
	}
	return p.mark + "---" + p.end + p.front + "---" + p.end + p.body
}

// field is one of Loci's keys of front matter, with its value as YAML on one line. The value ""
// removes the key.
type field struct{ key, value string }

// formatFields returns the fields as lines of front matter.
func frontOf(fields []field, end string) string {
	var lines strings.Builder
	for _, f := range fields {
		if f.value != "" {
			lines.WriteString(f.key + ": " + f.value + end)
		}
	}
	return lines.String()
}

// withFields returns the file with these fields and this text. Other keys, comments, the order and
// unchanged lines stay. ok is false if the front matter cannot be parsed; then the caller must not
// change the file.
func (p page) with(fields []field, words string) (out page, ok bool) {
	wanted, _, err := readFront(frontOf(fields, "\n"))
	if err != nil {
		return page{}, false
	}
	_, entries, err := readFront(p.front)
	if err != nil {
		return page{}, false
	}
	left := slices.Clone(fields)
	lines := slices.Collect(strings.Lines(p.front))
	at := 0
	var front strings.Builder
	for _, e := range entries {
		i := slices.IndexFunc(left, func(f field) bool { return f.key == e.key })
		if i < 0 {
			wanted[e.key] = e.value
			continue
		}
		f := left[i]
		left = slices.Delete(left, i, i+1)
		if f.value != "" && wanted[f.key].meaning() == e.value.meaning() {
			continue
		}
		front.WriteString(strings.Join(lines[at:e.from], ""))
		if at = e.to; f.value != "" {
			front.WriteString(f.key + ": " + f.value + commentOf(lines[e.from:e.to]) + p.end)
		}
	}
	front.WriteString(strings.Join(lines[at:], "") + frontOf(left, p.end))
	out = page{mark: p.mark, end: p.end, has: true, front: front.String(), body: words + p.end}
	now, _, err := readFront(out.front)
	return out, err == nil && maps.EqualFunc(now, wanted, func(a, b scalarOrList) bool { return a.meaning() == b.meaning() })
}

var lineComment = lazy.Compile(`[ \t]+#[^"'\r\n]*[\r\n]*$`)

// trailingComment returns the comment after a one-line value.
func commentOf(lines []string) string {
	if len(lines) != 1 {
		return ""
	}
	return strings.TrimRight(lineComment.FindString(lines[0]), "\r\n")
}

// scalarOrList is the text of a YAML scalar, or the texts of a list of scalars. Of other values it
// has only the type, so that they do not count as deleted.
type scalarOrList struct {
	text string
	list []string
	many bool
	odd  string // YAML type of any other value, for messages; "" for a scalar or list of scalars
}

// comparable returns a text that is equal for equal values; values of other types are all equal.
func (v scalarOrList) meaning() string {
	switch {
	case v.odd != "":
		return "odd\x00"
	case v.many:
		return "list\x00" + strings.Join(v.list, "\x00")
	}
	return "text\x00" + v.text
}

// describe describes the value in messages.
func (v scalarOrList) called() string {
	switch {
	case v.odd != "":
		return v.odd
	case v.many:
		return "a list"
	}
	return strconv.Quote(v.text)
}

// frontMatter contains the values of front matter by key.
type frontMatter map[string]scalarOrList

// entry is a top-level key with its lines, from firstLine to before endLine, without the comments
// and empty lines that follow. key is "" if the YAML key is not a scalar.
type entry struct {
	key      string
	value    scalarOrList
	from, to int
}

// parseFront parses the top-level keys. It does not follow aliases.
func readFront(front string) (values frontMatter, entries []entry, err error) {
	if len(front) > maxFront {
		return nil, nil, fmt.Errorf("front matter has %d bytes; the limit is %d", len(front), maxFront)
	}
	defer func() {
		if p := recover(); p != nil { // a panic of the parser counts as an error in the file
			values, entries, err = nil, nil, fmt.Errorf("front matter cannot be read: %v", p)
		}
	}()
	front = strings.ReplaceAll(front, "\r\n", "\n")
	if strings.Contains(front, "\r") { // only YAML treats a single "\r" as a line end
		return nil, nil, fmt.Errorf("front matter has a carriage return within a line")
	}
	file, err := parser.ParseBytes([]byte(front), 0)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, nil, fmt.Errorf("front matter is not YAML: %s", first)
	}
	values = frontMatter{}
	lines := strings.Split(front, "\n")
	for _, doc := range file.Docs {
		var pairs []*ast.MappingValueNode
		switch body := doc.Body.(type) {
		case nil, *ast.CommentGroupNode:
		case *ast.MappingNode:
			pairs = body.Values
		case *ast.MappingValueNode:
			pairs = append(pairs, body)
		default:
			return nil, nil, fmt.Errorf("front matter must be keys and values, but is a %s", body.Type())
		}
		for _, pair := range pairs {
			e := entry{value: valueOf(pair.Value), from: pair.Key.GetToken().Position.Line - 1, to: len(lines)}
			if key, ok := scalar(pair.Key); ok {
				e.key, values[key] = key, e.value
			}
			if n := len(entries); n > 0 {
				entries[n-1].to = e.from
			}
			entries = append(entries, e)
		}
	}
	for i := range entries {
		e := &entries[i]
		for e.to > e.from+1 && (strings.TrimSpace(lines[e.to-1]) == "" || lines[e.to-1][0] == '#') {
			e.to--
		}
	}
	return values, entries, nil
}

// frontValue returns the value of a front matter key in a file, or "".
func valueIn(text, key string) string {
	values, _, _ := readFront(split(text).front)
	return values[key].text
}

func valueOf(n ast.Node) scalarOrList {
	if text, ok := scalar(n); ok {
		return scalarOrList{text: text}
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return scalarOrList{odd: fmt.Sprintf("a YAML %s", n.Type())}
	}
	v := scalarOrList{many: true}
	for _, item := range seq.Values {
		text, ok := scalar(item)
		if !ok {
			return scalarOrList{odd: fmt.Sprintf("a list that contains a YAML %s, for example an unquoted [[…]]", item.Type())}
		}
		v.list = append(v.list, text)
	}
	return v
}

// scalarText returns a scalar's text: the value of a string, or the source text of another scalar.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.NullNode:
		return "", true
	case *ast.MappingKeyNode, *ast.AliasNode, *ast.AnchorNode, *ast.TagNode: // scalars for the parser, but not for Loci
		return "", false
	case ast.ScalarNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// yamlString returns a text as YAML on one line, with quotes if necessary.
func quoted(text string) string {
	if plain.MatchString(text) && !words[strings.ToLower(text)] {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b) // a JSON string is valid YAML
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // strings always encode
	return strings.TrimSuffix(b.String(), "\n")
}

var plain = lazy.Compile(`^[A-Za-z][A-Za-z0-9_./+-]*$`)

// reservedWords lists texts that YAML does not read as strings if they are unquoted.
var words = map[string]bool{
	"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true,
	"inf": true, "nan": true, "nil": true,
}

// yamlList returns a list as YAML, or "" for an empty list.
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
