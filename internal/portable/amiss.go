package portable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/text"
)

// rightTime shows how a time is written.
const rightTime = "2026-05-03T14:00:00Z"

// amiss says in words why JSON could not be read: what was expected, what was found and
// in which field, without Go's names of types.
func amiss(err error) string {
	var typed *json.UnmarshalTypeError
	var no *time.ParseError
	switch {
	case errors.As(err, &typed):
		what := "it"
		if field := fieldOf(typed.Field); field != "" {
			what = fmt.Sprintf("%q", text.Clip(field, 100))
		}
		return fmt.Sprintf("%s should be %s and is %s", what, expected(typed.Type), foundOf(typed.Value))
	case errors.As(err, &no):
		return fmt.Sprintf("%q is not a valid time; write it as %s", text.Clip(no.Value, 60), rightTime)
	case strings.HasPrefix(err.Error(), "Time."): // of encoding/json for a time that is not text, by words alone
		return "a time should be a text like " + rightTime
	case errors.Is(err, io.EOF):
		return "there is nothing in it"
	case errors.Is(err, io.ErrUnexpectedEOF), err.Error() == "unexpected end of JSON input":
		return "it breaks off"
	}
	return text.Clip(strings.TrimPrefix(err.Error(), "json: "), 200)
}

// fieldOf returns the path of a field as the file has it: without the structs that are
// embedded in lines, whose names are in capitals.
func fieldOf(path string) string {
	var parts []string
	for part := range strings.SplitSeq(path, ".") {
		if part != "" && (part[0] < 'A' || part[0] > 'Z') {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ".")
}

// expected says what JSON a Go type is read from.
func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return expected(t.Elem())
	}
	return "a whole number"
}

// foundOf says what encoding/json found instead.
func foundOf(value string) string {
	switch kind, _, _ := strings.Cut(value, " "); kind {
	case "string":
		return "a text"
	case "number":
		return "a number" + strings.TrimPrefix(text.Clip(value, 40), "number")
	case "object":
		return "an object"
	case "array":
		return "a list"
	case "bool":
		return "true or false"
	}
	return text.Clip(value, 40)
}
