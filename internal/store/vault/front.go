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
const maxFrontBytes = 64 << 10

// fileParts is a file in two parts: front matter between two lines of "---", and a memory's text
// with one line end added. The added line end keeps a text byte for byte, since editors end every
// file with a line end.
type fileParts struct {
	bom      string // byte order mark, or ""
	front    string // lines of the front matter with their line ends
	lineEnd  string // line end of the file: "\n" or "\r\n"
	hasFront bool   // whether the file has front matter
	body     string // text after the front matter
}

const byteOrderMark = "\ufeff"

// splitFile splits a file into its parts. It accepts any text.
func splitFile(text string) fileParts {
	p := fileParts{lineEnd: "\n"}
	rest := text
	if t, ok := strings.CutPrefix(text, byteOrderMark); ok {
		p.bom, rest = byteOrderMark, t
	}
	first, after, ok := cutLine(rest)
	if !ok || strings.TrimRight(first, " \t\r\n") != "---" {
		p.body = rest
		return p
	}
	if strings.HasSuffix(first, "\r\n") {
		p.lineEnd = "\r\n"
	}
	var front strings.Builder
	for after != "" {
		l, next, _ := cutLine(after)
		if strings.TrimRight(l, " \t\r\n") == "---" {
			p.hasFront, p.front, p.body = true, front.String(), next
			return p
		}
		front.WriteString(l)
		after = next
	}
	p.body, p.lineEnd = rest, "\n" // the front matter has no end: the file is all text
	return p
}

// cutLine returns the first line with its line end, and the text after the line.
func cutLine(text string) (first, rest string, hasLineEnd bool) {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:], true
	}
	return text, "", false
}

// text returns the body without the final line end.
func (p fileParts) text() string {
	if w, ok := strings.CutSuffix(p.body, "\r\n"); ok && p.lineEnd == "\r\n" {
		return w
	}
	return strings.TrimSuffix(p.body, "\n")
}

// String joins the file's parts.
func (p fileParts) String() string {
	if !p.hasFront {
		return p.bom + p.body
	}
	return p.bom + "---" + p.lineEnd + p.front + "---" + p.lineEnd + p.body
}

// field is one of Loci's keys of front matter, with its value as YAML on one line. The value ""
// removes the key.
type field struct{ key, value string }

// formatFields returns the fields as lines of front matter.
func formatFields(fields []field, lineEnd string) string {
	var lines strings.Builder
	for _, f := range fields {
		if f.value != "" {
			lines.WriteString(f.key + ": " + f.value + lineEnd)
		}
	}
	return lines.String()
}

// withFields returns the file with these fields and this text. Other keys, comments, unchanged lines
// and the order of lines stay. If ok is false, the front matter cannot be parsed, and the caller must
// not change the file.
func (p fileParts) withFields(fields []field, text string) (out fileParts, ok bool) {
	wanted, _, err := parseFront(formatFields(fields, "\n"))
	if err != nil {
		return fileParts{}, false
	}
	_, entries, err := parseFront(p.front)
	if err != nil {
		return fileParts{}, false
	}
	missing := slices.Clone(fields)
	lines := slices.Collect(strings.Lines(p.front))
	next := 0
	var front strings.Builder
	for _, e := range entries {
		i := slices.IndexFunc(missing, func(f field) bool { return f.key == e.key })
		if i < 0 {
			wanted[e.key] = e.value
			continue
		}
		f := missing[i]
		missing = slices.Delete(missing, i, i+1)
		if f.value != "" && wanted[f.key].comparisonText() == e.value.comparisonText() {
			continue
		}
		front.WriteString(strings.Join(lines[next:e.firstLine], ""))
		if next = e.endLine; f.value != "" {
			front.WriteString(f.key + ": " + f.value + trailingComment(lines[e.firstLine:e.endLine]) + p.lineEnd)
		}
	}
	front.WriteString(strings.Join(lines[next:], "") + formatFields(missing, p.lineEnd))
	out = fileParts{bom: p.bom, lineEnd: p.lineEnd, hasFront: true, front: front.String(), body: text + p.lineEnd}
	now, _, err := parseFront(out.front)
	return out, err == nil && maps.EqualFunc(now, wanted, func(a, b scalarOrList) bool { return a.comparisonText() == b.comparisonText() })
}

var commentPattern = lazy.Compile(`[ \t]+#[^"'\r\n]*[\r\n]*$`)

// trailingComment returns the comment after a one-line value.
func trailingComment(lines []string) string {
	if len(lines) != 1 {
		return ""
	}
	return strings.TrimRight(commentPattern.FindString(lines[0]), "\r\n")
}

// scalarOrList is the text of a YAML scalar, or the texts of a list of scalars. For a value of
// another type it has only the type, so that Loci does not mistake the value for a missing value.
type scalarOrList struct {
	text      string
	list      []string
	isList    bool
	otherType string // YAML type of any other value, for messages; "" for a scalar or list of scalars
}

// comparisonText returns a text by which to compare values; all values with an otherType count as equal.
func (v scalarOrList) comparisonText() string {
	switch {
	case v.otherType != "":
		return "odd\x00"
	case v.isList:
		return "list\x00" + strings.Join(v.list, "\x00")
	}
	return "text\x00" + v.text
}

// describe returns the value as error messages name it.
func (v scalarOrList) describe() string {
	switch {
	case v.otherType != "":
		return v.otherType
	case v.isList:
		return "a list"
	}
	return strconv.Quote(v.text)
}

// frontMatter contains the values of front matter by key.
type frontMatter map[string]scalarOrList

// frontEntry is a top-level key with its lines, from firstLine to before endLine, without the comments
// and empty lines that follow. key is "" if the YAML key is not a scalar.
type frontEntry struct {
	key                string
	value              scalarOrList
	firstLine, endLine int
}

// parseFront parses the top-level keys of front matter. It does not follow YAML's aliases.
func parseFront(front string) (values frontMatter, entries []frontEntry, err error) {
	if len(front) > maxFrontBytes {
		return nil, nil, fmt.Errorf("front matter has %d bytes; the limit is %d", len(front), maxFrontBytes)
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
			e := frontEntry{value: parseValue(pair.Value), firstLine: pair.Key.GetToken().Position.Line - 1, endLine: len(lines)}
			if key, ok := scalarText(pair.Key); ok {
				e.key, values[key] = key, e.value
			}
			if n := len(entries); n > 0 {
				entries[n-1].endLine = e.firstLine
			}
			entries = append(entries, e)
		}
	}
	for i := range entries {
		e := &entries[i]
		for e.endLine > e.firstLine+1 && (strings.TrimSpace(lines[e.endLine-1]) == "" || lines[e.endLine-1][0] == '#') {
			e.endLine--
		}
	}
	return values, entries, nil
}

// frontValue returns the value of a front matter key in a file, or "".
func frontValue(text, key string) string {
	values, _, _ := parseFront(splitFile(text).front)
	return values[key].text
}

func parseValue(n ast.Node) scalarOrList {
	if text, ok := scalarText(n); ok {
		return scalarOrList{text: text}
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return scalarOrList{otherType: fmt.Sprintf("a YAML %s", n.Type())}
	}
	v := scalarOrList{isList: true}
	for _, item := range seq.Values {
		text, ok := scalarText(item)
		if !ok {
			return scalarOrList{otherType: fmt.Sprintf("a list that contains a YAML %s, for example an unquoted [[…]]", item.Type())}
		}
		v.list = append(v.list, text)
	}
	return v
}

// scalarText returns a scalar's text: the value of a string, or the source text of another scalar.
func scalarText(n ast.Node) (string, bool) {
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
func yamlString(text string) string {
	if plainPattern.MatchString(text) && !reservedWords[strings.ToLower(text)] {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b) // a JSON string is valid YAML
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // strings always encode
	return strings.TrimSuffix(b.String(), "\n")
}

var plainPattern = lazy.Compile(`^[A-Za-z][A-Za-z0-9_./+-]*$`)

// reservedWords lists texts that YAML does not read as strings if they are unquoted.
var reservedWords = map[string]bool{
	"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true,
	"inf": true, "nan": true, "nil": true,
}

// yamlList returns a list as YAML, or "" for an empty list.
func yamlList(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	quotes := make([]string, len(texts))
	for i, t := range texts {
		quotes[i] = yamlString(t)
	}
	return "[" + strings.Join(quotes, ", ") + "]"
}
