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

// kinds are what JSON's values are called, by Go's names and encoding/json's.
var kinds = map[string]string{
	"string": "a text", "bool": "true or false", "number": "a number", "float32": "a number", "float64": "a number",
	"array": "a list", "slice": "a list", "object": "an object", "struct": "an object", "map": "an object",
}

// amiss says in words why JSON could not be read: what was expected, what was found and
// in which field, without Go's names of types.
func amiss(err error) string {
	var typed *json.UnmarshalTypeError
	var no *time.ParseError
	switch {
	case errors.As(err, &typed):
		want := typed.Type
		if want.Kind() == reflect.Pointer {
			want = want.Elem()
		}
		found, value, _ := strings.Cut(typed.Value, " ")
		return strings.TrimSpace(fmt.Sprintf("%s should be %s and is %s %s", fieldOf(typed.Field), cmp.Or(kinds[want.Kind().String()], "a whole number"), kinds[found], text.Clip(value, 40)))
	case errors.As(err, &no):
		return fmt.Sprintf("%q is not a valid time; write it as 2026-05-03T14:00:00Z", text.Clip(no.Value, 60))
	case strings.HasPrefix(err.Error(), "Time."): // of encoding/json for a time that is not text, by words alone
		return "a time should be a text like 2026-05-03T14:00:00Z"
	case errors.Is(err, io.EOF):
		return "there is nothing in it"
	case errors.Is(err, io.ErrUnexpectedEOF), err.Error() == "unexpected end of JSON input":
		return "it breaks off"
	}
	return text.Clip(strings.TrimPrefix(err.Error(), "json: "), 200)
}

// fieldOf names a field as the file does: without the structs that are embedded in lines,
// whose names are in capitals.
func fieldOf(path string) string {
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
