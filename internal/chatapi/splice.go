package chatapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

// edit replaces a span of a body by a text.
type edit struct {
	span
	text string
}

// splice applies edits, which must not overlap. Without edits it returns body itself.
func splice(body []byte, edits ...edit) []byte {
	if len(edits) == 0 {
		return body
	}
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) // at the same offset, insertions come before deletions
	})
	size := len(body)
	for _, e := range edits {
		size += len(e.text) - (e.to - e.from)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, e := range edits {
		out = append(out, body[at:e.from]...)
		out = append(out, e.text...)
		at = e.to
	}
	return append(out, body[at:]...)
}

func insertion(at int, text string) edit { return edit{span{at, at}, text} }

// removalEdits returns the edits that remove members of an object. Each edit also removes the comma before
// the member or, if no remaining member precedes the member, the comma after it.
func removalEdits(fields []member, remove func(name string) bool) []edit {
	var cuts []edit
	kept := false
	for i, f := range fields {
		if !remove(f.name) {
			kept = true
			continue
		}
		cut := span{f.key.from, spanOf(f.value).to}
		switch {
		case kept:
			cut.from = spanOf(fields[i-1].value).to
		case i+1 < len(fields):
			cut.to = fields[i+1].key.from
		}
		cuts = append(cuts, edit{span: cut})
	}
	return cuts
}

// Field is a field to add to an object.
type Field struct {
	Name  string
	Value any // encoded by encoding/json
}

// AddFields appends fields to body, a JSON object, and does not change any other byte. If body is not an
// object, it returns [memory.Invalid].
func AddFields(body []byte, fields ...Field) ([]byte, error) {
	if err := validateBody(body); err != nil {
		return nil, err
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		return nil, memory.Errorf(memory.Invalid, "the body must be a JSON object")
	}
	empty := true
	root.ForEach(func(_, _ gjson.Result) bool { empty = false; return false })
	var b strings.Builder
	for i, f := range fields {
		value, err := Encode(f.Value)
		if err != nil {
			return nil, memory.Errorf(memory.Invalid, "field %s: %w", f.Name, err)
		}
		if i > 0 || !empty {
			b.WriteByte(',')
		}
		b.WriteString(quote(f.Name))
		b.WriteByte(':')
		b.Write(value)
	}
	return splice(body, insertion(bytes.LastIndexByte(body, '}'), b.String())), nil
}

// Encode encodes v as JSON without escaping <, > and &.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// mustEncode encodes a string, a number, or a struct or slice of these, which cannot fail.
func mustEncode(v any) []byte {
	out, err := Encode(v)
	if err != nil {
		panic(err)
	}
	return out
}

// quote encodes s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func quote(s string) string { return string(mustEncode(s)) }
