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

// elements returns what is in an array or object, also where there is none.
func (n *jsonNode) elements() []*jsonNode {
	if n == nil {
		return nil
	}
	return n.items
}

// readJSON reads a settings file, whose value must be an object.
func readJSON(text string) (*jsonNode, error) {
	bare, strict := plainJSON(text)
	var object map[string]json.RawMessage
	err := json.Unmarshal(strict, &object)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("line %d: %w", 1+strings.Count(text[:syntax.Offset], "\n"), err)
	case err != nil || object == nil:
		return nil, errors.New("it is not a JSON object")
	}
	return readNode(json.NewDecoder(bytes.NewReader(strict)), bare), nil
}

// readNode reads a value of valid JSON.
func readNode(dec *json.Decoder, bare []byte) *jsonNode {
	next := func() int { return len(bare) - len(bytes.TrimLeft(bare[dec.InputOffset():], " \t\r\n:,")) }
	n := &jsonNode{start: next(), comma: -1}
	token, _ := dec.Token()
	if open, ok := token.(json.Delim); ok {
		for dec.More() {
			at, key := next(), ""
			if open == '{' {
				name, _ := dec.Token()
				key, _ = name.(string)
			}
			item := readNode(dec, bare)
			item.at, item.key = at, key
			n.items = append(n.items, item)
		}
		_, _ = dec.Token()
	}
	n.end = int(dec.InputOffset())
	if rest := bytes.TrimLeft(bare[n.end:], " \t\r\n"); bytes.HasPrefix(rest, []byte(",")) {
		n.comma = len(bare) - len(rest)
	}
	return n
}

// plainJSON returns the text with blanks for comments and, in strict, for trailing commas. All
// offsets stay.
func plainJSON(text string) (bare, strict []byte) {
	bare = []byte(strings.Replace(text, "\ufeff", "   ", 1))
	var trailing []int
	comma := -1 // that nothing follows yet
	for i := 0; i < len(bare); i++ {
		end := ""
		switch rest := bare[i:]; {
		case rest[0] == '"':
			for i++; i < len(bare) && bare[i] != '"'; i++ {
				if bare[i] == '\\' {
					i++
				}
			}
			comma = -1
		case bytes.HasPrefix(rest, []byte("//")):
			end = "\n"
		case bytes.HasPrefix(rest, []byte("/*")):
			end = "*/"
		case rest[0] == ',':
			comma = i
		case (rest[0] == '}' || rest[0] == ']') && comma >= 0:
			trailing = append(trailing, comma)
			comma = -1
		case !bytes.ContainsRune([]byte(" \t\r\n"), rune(rest[0])):
			comma = -1
		}
		if end != "" {
			to := len(bare)
			if n := bytes.Index(bare[i+2:], []byte(end)); n >= 0 {
				to = i + 2 + n + len(strings.TrimSpace(end))
			}
			for ; i < to; i++ {
				if bare[i] != '\n' {
					bare[i] = ' '
				}
			}
			i--
		}
	}
	strict = bytes.Clone(bare)
	for _, at := range trailing {
		strict[at] = ' '
	}
	return bare, strict
}

// putJSON returns the text with a value at a path of keys: a new member or, where an array is
// there, a new last element of that. Objects on the way that are missing are made.
func putJSON(text string, path []string, value any) (string, error) {
	root, err := readJSON(text)
	if err != nil {
		return "", err
	}
	in := root
	for len(path) > 0 && in.member(path[0]) != nil {
		in, path = in.member(path[0]), path[1:]
	}
	isArray := text[in.start] == '['
	if isArray != (len(path) == 0) || !isArray && text[in.start] != '{' {
		return "", fmt.Errorf("%s is neither an object nor a list", in.key)
	}
	unit := "  "
	if len(root.items) > 0 && indentOf(text, root.items[0].at) != "" {
		unit = indentOf(text, root.items[0].at)
	}
	indent, separate, oneLine := indentOf(text, in.start)+unit, "", false
	end := len(strings.TrimRight(text[:in.end-1], " \t\r\n")) // behind the last item or comment
	closing := ""
	var last *jsonNode
	switch {
	case len(in.items) > 0:
		last = in.items[len(in.items)-1]
		indent, oneLine = indentOf(text, last.at), !strings.Contains(text[in.start:in.end], "\n")
	case !strings.Contains(text[end:in.end], "\n"):
		closing = "\n" + indentOf(text, in.start)
	}
	if separate = "\n" + indent; oneLine {
		separate = " "
	}
	if last != nil && last.comma >= 0 {
		closing = ","
	}
	key := ""
	if !isArray {
		key = encodeJSON(path[0], "", "", true) + ": "
	}
	for i := len(path) - 1; i > 0; i-- {
		value = map[string]any{path[i]: value}
	}
	text = text[:end] + separate + key + encodeJSON(value, indent, unit, oneLine) + closing + text[end:]
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
