package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// jsonNode is a value in a JSON text that may have comments and trailing commas. Offsets let
// a member be written or removed while all else stays as it is.
type jsonNode struct {
	key        string // of a member of an object
	at         int    // where the member, or the element of an array, begins
	start, end int    // of the value
	items      []*jsonNode
	comma      int // the offset of the comma behind it, -1 without one
}

// member returns the value that a path of keys leads to, nil for none.
func (n *jsonNode) member(path ...string) *jsonNode {
	for _, key := range path {
		if n == nil {
			return nil
		}
		i := slices.IndexFunc(n.items, func(item *jsonNode) bool { return item.key == key })
		if i < 0 {
			return nil
		}
		n = n.items[i]
	}
	return n
}

type jsonReader struct {
	text string
	at   int
}

// readJSON reads a settings file, whose value must be an object.
func readJSON(text string) (*jsonNode, error) {
	r := &jsonReader{text: text}
	if strings.HasPrefix(text, "\ufeff") {
		r.at = len("\ufeff")
	}
	root, err := r.value()
	if err == nil {
		err = r.space()
	}
	switch {
	case err != nil:
		return nil, err
	case r.at < len(text):
		return nil, r.wrong("the end")
	case text[root.start] != '{':
		return nil, errors.New("it is not a JSON object")
	}
	return root, nil
}

func (r *jsonReader) wrong(want string) error {
	return fmt.Errorf("line %d is not JSON: %s expected", 1+strings.Count(r.text[:r.at], "\n"), want)
}

func (r *jsonReader) next() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// space skips white space and comments.
func (r *jsonReader) space() error {
	for {
		r.at = len(r.text) - len(strings.TrimLeft(r.text[r.at:], " \t\r\n"))
		rest, end := r.text[r.at:], "\n"
		switch {
		case strings.HasPrefix(rest, "//"):
		case strings.HasPrefix(rest, "/*"):
			end = "*/"
		default:
			return nil
		}
		i := strings.Index(rest[2:], end)
		switch {
		case i >= 0:
			r.at += 2 + i + len(end)
		case end == "\n":
			r.at = len(r.text)
		default:
			return r.wrong("the end of a comment")
		}
	}
}

func (r *jsonReader) value() (*jsonNode, error) {
	if err := r.space(); err != nil {
		return nil, err
	}
	n := &jsonNode{at: r.at, start: r.at, comma: -1}
	switch r.next() {
	case '{', '[':
		if err := r.container(n); err != nil {
			return nil, err
		}
	case '"':
		if _, err := r.str(); err != nil {
			return nil, err
		}
	default:
		r.at += len(r.text[r.at:]) - len(strings.TrimLeft(r.text[r.at:], "+-.0123456789abcdefghijklmnopqrstuvwxyzE"))
		if !json.Valid([]byte(r.text[n.start:r.at])) {
			return nil, r.wrong("a value")
		}
	}
	n.end = r.at
	return n, nil
}

func (r *jsonReader) container(n *jsonNode) error {
	object, closing := r.next() == '{', byte(']')
	if object {
		closing = '}'
	}
	r.at++
	for {
		if err := r.space(); err != nil {
			return err
		}
		if r.next() == closing {
			r.at++
			return nil
		}
		if len(n.items) > 0 && n.items[len(n.items)-1].comma < 0 {
			return r.wrong("a comma")
		}
		at, key := r.at, ""
		if object {
			var err error
			if key, err = r.str(); err != nil {
				return err
			}
			if err := r.space(); err != nil {
				return err
			}
			if r.next() != ':' {
				return r.wrong("a colon")
			}
			r.at++
		}
		item, err := r.value()
		if err != nil {
			return err
		}
		item.at, item.key = at, key
		n.items = append(n.items, item)
		if err := r.space(); err != nil {
			return err
		}
		if r.next() == ',' {
			item.comma = r.at
			r.at++
		}
	}
}

func (r *jsonReader) str() (s string, err error) {
	if r.next() != '"' {
		return "", r.wrong("a string")
	}
	start := r.at
	for r.at++; r.at < len(r.text) && r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' {
			r.at++
		}
	}
	r.at = min(r.at+1, len(r.text))
	if json.Unmarshal([]byte(r.text[start:r.at]), &s) != nil {
		return "", r.wrong("a string")
	}
	return s, nil
}

// putJSON returns the text with a value at a path of keys: a new member or, where an array is
// there, a new last element of that. Objects on the way that are missing are made.
func putJSON(text string, path []string, value any) (string, error) {
	root, err := readJSON(text)
	if err != nil {
		return "", err
	}
	in := root
	for len(path) > 0 {
		next := in.member(path[0])
		if next == nil {
			break
		}
		in, path = next, path[1:]
	}
	isArray := text[in.start] == '['
	if isArray != (len(path) == 0) || !isArray && text[in.start] != '{' {
		return "", fmt.Errorf("%s is neither an object nor a list", in.key)
	}
	for i := len(path) - 1; i > 0; i-- {
		value = map[string]any{path[i]: value}
	}
	unit := "  "
	if len(root.items) > 0 && strings.Contains(text[:root.items[0].at], "\n") {
		unit = indentOf(text, root.items[0].at)
	}
	var last *jsonNode
	indent := indentOf(text, in.start) + unit
	if len(in.items) > 0 {
		last = in.items[len(in.items)-1]
		indent = indentOf(text, last.at)
	}
	newline := "\n"
	if strings.Contains(text, "\r\n") {
		newline = "\r\n"
	}
	separate := newline + indent
	oneLine := last != nil && !strings.Contains(text[in.start:in.end], "\n")
	if oneLine {
		separate = " "
	}
	item := encodeJSON(value, indent, unit, oneLine)
	if !isArray {
		item = encodeJSON(path[0], "", "", true) + ": " + item
	}
	item = separate + strings.ReplaceAll(item, "\n", newline)
	end := len(strings.TrimRight(text[:in.end-1], " \t\r\n")) // behind the last item or comment
	switch {
	case last != nil && last.comma >= 0:
		item += ","
	case last == nil && !strings.Contains(text[end:in.end], "\n"):
		item += newline + indentOf(text, in.start)
	}
	text = text[:end] + item + text[end:]
	if last != nil && last.comma < 0 {
		text = text[:last.end] + "," + text[last.end:]
	}
	return text, nil
}

func encodeJSON(value any, indent, unit string, oneLine bool) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if !oneLine {
		enc.SetIndent(indent, unit)
	}
	_ = enc.Encode(value) // maps and structs of strings
	return strings.TrimSpace(out.String())
}

// indentOf returns the white space that the line at an offset begins with.
func indentOf(text string, at int) string {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// cutJSON returns the text without the last value of a chain that leads to it from the root,
// and without what holds only that.
func cutJSON(text string, chain []*jsonNode) string {
	for len(chain) > 2 {
		in, item := chain[len(chain)-2], chain[len(chain)-1]
		around := text[in.start+1:item.at] + text[item.end:in.end-1]
		if len(in.items) > 1 || strings.Trim(around, " \t\r\n,") != "" { // a comment stays
			break
		}
		chain = chain[:len(chain)-1]
	}
	in, item := chain[len(chain)-2], chain[len(chain)-1]
	from, to := len(strings.TrimRight(text[:item.at], " \t\r\n")), item.end
	if item.comma >= 0 {
		to = item.comma + 1
	}
	rest := strings.TrimLeft(text[to:], " \t\r")
	if strings.Contains(text[from:item.at], "\n") && !strings.HasPrefix(rest, "\n") { // the line goes on
		from, to = item.at, len(text)-len(rest)
	}
	out := text[:from] + text[to:]
	if i := slices.Index(in.items, item); i > 0 && item.comma < 0 {
		before := in.items[i-1]
		out = out[:before.comma] + out[before.comma+1:]
	}
	if len(in.items) == 1 && strings.TrimSpace(text[in.start+1:from]+text[to:in.end-1]) == "" {
		out = text[:in.start+1] + text[in.end-1:]
	}
	return out
}
