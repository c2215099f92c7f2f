package portable

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/text"
)

// typeNames maps types of Go and encoding/json to names for people.
var typeNames = map[string]string{
	"string": "a text", "bool": "true or false", "number": "a number", "float32": "a number", "float64": "a number",
	"array": "a list", "slice": "a list", "object": "an object", "struct": "an object", "map": "an object",
}

// explainJSON describes a JSON error for people: with the field, the expected type and the actual type.
func explainJSON(err error) string {
	var typeErr *json.UnmarshalTypeError
	var timeErr *time.ParseError
	switch {
	case errors.As(err, &typeErr):
		expected := typeErr.Type
		if expected.Kind() == reflect.Pointer {
			expected = expected.Elem()
		}
		actual, value, _ := strings.Cut(typeErr.Value, " ")
		return strings.TrimSpace(fmt.Sprintf("%s should be %s and is %s %s", fieldName(typeErr.Field), cmp.Or(typeNames[expected.Kind().String()], "a whole number"), typeNames[actual], text.Clip(value, 40)))
	case errors.As(err, &timeErr):
		return fmt.Sprintf("%q is not a valid time; write it as 2026-05-03T14:00:00Z", text.Clip(timeErr.Value, 60))
	case strings.HasPrefix(err.Error(), "Time."): // the error for a time that is not a string has no type
		return "a time should be a text like 2026-05-03T14:00:00Z"
	case errors.Is(err, io.EOF):
		return "it is empty"
	case errors.Is(err, io.ErrUnexpectedEOF), err.Error() == "unexpected end of JSON input":
		return "it ends too early"
	}
	return text.Clip(strings.TrimPrefix(err.Error(), "json: "), 200)
}

// fieldName returns a field's name in the file, without embedded structs, whose names are
// capitalized.
func fieldName(path string) string {
	var parts []string
	for part := range strings.SplitSeq(path, ".") {
		if part != "" && (part[0] < 'A' || part[0] > 'Z') {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "it"
	}
	return fmt.Sprintf("%q", text.Clip(strings.Join(parts, "."), 100))
}
