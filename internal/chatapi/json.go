package chatapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

// span is the range of bytes [from, to) of a value in a body. An empty span means that the value is absent.
type span struct{ from, to int }

func (s span) isSet() bool { return s.to > s.from }

func spanOf(v gjson.Result) span { return span{v.Index, v.Index + len(v.Raw)} }

// validateBody returns [memory.Invalid] for a body that is not JSON in UTF-8 or nests deeper than [MaxDepth].
func validateBody(body []byte) error {
	if !utf8.Valid(body) {
		return memory.Errorf(memory.Invalid, "the body is not valid UTF-8")
	}
	if Depth(body) > MaxDepth {
		return memory.Errorf(memory.Invalid, "the body nests deeper than %d levels", MaxDepth)
	}
	if !gjson.ValidBytes(body) { // gives the same result as json.Valid (see FuzzValid) in half the time
		var v json.RawMessage
		return memory.Errorf(memory.Invalid, "the body is not valid JSON: %w", json.Unmarshal(body, &v))
	}
	return nil
}

// Depth returns the depth of nested brackets outside strings, at most [MaxDepth] plus one.
func Depth(body []byte) int {
	level, deepest := 0, 0
	for i := 0; i < len(body) && deepest <= MaxDepth; i++ {
		switch body[i] {
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		case '"':
			i = stringEnd(body, i)
		}
	}
	return deepest
}

// stringEnd returns the offset of the quote that ends the string beginning at i, or the body's end.
func stringEnd(body []byte, i int) int {
	for i++; i < len(body); i++ {
		n := bytes.IndexByte(body[i:], '"')
		if n < 0 {
			return len(body)
		}
		i += n
		slashes := 0
		for body[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
	return len(body)
}

// member is a key and its value in an object; key is the span of the key.
type member struct {
	name  string
	key   span
	value gjson.Result
}

// members returns an object's members in order, or nil for any other value.
func members(object gjson.Result) []member {
	if !object.IsObject() {
		return nil
	}
	var out []member
	object.ForEach(func(key, value gjson.Result) bool {
		out = append(out, member{unescaped(key), spanOf(key), value})
		return true
	})
	return out
}

// fieldOf returns the value of a field. Of several values it returns the last, as most readers do.
func fieldOf(fields []member, name string) (v gjson.Result) {
	for _, f := range fields {
		if f.name == name {
			v = f.value
		}
	}
	return v
}

// stringField returns the text of a field, "" if it is absent or not a string.
func stringField(fields []member, name string) string { return stringOf(fieldOf(fields, name)) }

// stringOf returns a copy of a string's text, "" for other values. Without the copy, a model's name could
// retain a body of many megabytes in memory.
func stringOf(v gjson.Result) string { return strings.Clone(unescaped(v)) }

// unescaped is like [stringOf], but the text may share memory with the body. Invalid escapes become U+FFFD.
func unescaped(v gjson.Result) string {
	if v.Type != gjson.String {
		return ""
	}
	if !strings.Contains(v.Raw, `\u`) {
		return v.Str
	}
	var s string
	if json.Unmarshal([]byte(v.Raw), &s) != nil {
		return v.Str
	}
	return s
}
