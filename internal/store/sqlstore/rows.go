package sqlstore

import (
	"cmp"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/loci-memory/loci/memory"
)

// scanner is one row of a result.
type scanner interface{ Scan(dest ...any) error }

// unixEpochSeconds is the number of seconds from the zero time to 1970.
const unixEpochSeconds = 62135596800

// toMicros returns the stored form of a time: microseconds since the zero time.
func toMicros(t time.Time) int64 {
	return (t.Unix()+unixEpochSeconds)*1_000_000 + int64(t.Nanosecond()/1000)
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(n/1_000_000-unixEpochSeconds, n%1_000_000*1000).UTC()
}

// encodeList returns the stored form of a list of texts: JSON, or "" for an empty list.
func encodeList(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	data, _ := json.Marshal(texts) // strings always marshal
	return string(data)
}

// textList is a list of texts as an argument of json_each(?).
type textList []string

func toTextList[T ~string](values []T) textList {
	all := make(textList, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}

// Value returns the list as JSON, for SQLite.
func (l textList) Value() (driver.Value, error) { return cmp.Or(encodeList(l), `[]`), nil }

func toJSON(value any) (string, error) {
	data, err := json.Marshal(value)
	return string(data), err
}

// These types convert between a field and a column of another type.
type (
	timeColumn    struct{ field *time.Time }       // microseconds since the year 1
	listColumn    struct{ texts *[]string }        // JSON array, "" for an empty list
	jsonColumn    struct{ value any }              // JSON
	rawJSONColumn struct{ field *json.RawMessage } // JSON, "" for nil
	numberColumn  struct{ field *float64 }         // finite number
	coreColumn    struct {                         // boolean: whether *core equals value
		core  *memory.Core
		value memory.Core
	}
	quoteColumn struct { // one field of a quote; NULL if there is no quote
		quote **memory.Span
		field func(*memory.Span) any
	}
)

// maxMicros is the end of the year 9999: times after it cannot be encoded in JSON.
const maxMicros = (253402300799+unixEpochSeconds)*1_000_000 + 999_999

// Scan reads a time, and refuses a value out of range.
func (a timeColumn) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return fmt.Errorf("time column: want an integer, got %T", src)
	}
	if n < -maxMicros || n > maxMicros {
		return errors.New("time column: out of range")
	}
	*a.field = fromMicros(n)
	return nil
}

// Value returns the stored form of the field.
func (a timeColumn) Value() (driver.Value, error) { return toMicros(*a.field), nil }

// Scan reads a list.
func (a listColumn) Scan(src any) error {
	if src == "" {
		return nil
	}
	return jsonColumn{a.texts}.Scan(src)
}

// Value returns the stored form of the field.
func (a listColumn) Value() (driver.Value, error) { return encodeList(*a.texts), nil }

// Scan reads JSON into a value.
func (a jsonColumn) Scan(src any) error {
	s, ok := src.(string)
	if !ok {
		return fmt.Errorf("JSON column: want a string, got %T", src)
	}
	return json.Unmarshal([]byte(s), a.value)
}

// Value returns the stored form of the field.
func (a jsonColumn) Value() (driver.Value, error) { return toJSON(a.value) }

// Scan reads JSON, and refuses invalid JSON.
func (a rawJSONColumn) Scan(src any) error {
	s, ok := src.(string)
	if !ok || s != "" && !json.Valid([]byte(s)) {
		return errors.New("the column is not JSON")
	}
	if s != "" {
		*a.field = json.RawMessage(s)
	}
	return nil
}

// Value returns the stored form of the field.
func (a rawJSONColumn) Value() (driver.Value, error) { return string(*a.field), nil }

// Scan reads a number, and refuses NaN and infinity.
func (a numberColumn) Scan(src any) error {
	n, ok := src.(float64)
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
		return errors.New("the column is not a number")
	}
	*a.field = n
	return nil
}

// Value returns the stored form of the field.
func (a numberColumn) Value() (driver.Value, error) { return *a.field, nil }

// Scan sets an empty *core to value if the column is true, which is the number 1 in SQLite.
func (a coreColumn) Scan(src any) error {
	if src == true || src == int64(1) {
		*a.core = cmp.Or(*a.core, a.value)
	}
	return nil
}

// Value returns the stored form of the field.
func (a coreColumn) Value() (driver.Value, error) { return *a.core == a.value, nil }

// Scan reads one field of a quote.
func (a quoteColumn) Scan(src any) error {
	if src == nil {
		return nil
	}
	if *a.quote == nil {
		*a.quote = &memory.Span{}
	}
	switch part := a.field(*a.quote).(type) {
	case *string:
		*part, _ = src.(string)
	case *int:
		n, _ := src.(int64)
		*part = int(n)
	}
	return nil
}

// Value returns the stored form of the field.
func (a quoteColumn) Value() (driver.Value, error) {
	if *a.quote == nil {
		return nil, nil
	}
	if part, ok := a.field(*a.quote).(*int); ok {
		return int64(*part), nil
	}
	return *a.field(*a.quote).(*string), nil
}

// insert runs a statement whose arguments are the owner and the values to which fields point.
func (t *tx) insert(query string, owner memory.Owner, fields ...any) error {
	args := make([]any, 1, len(fields)+1)
	args[0] = string(owner)
	for _, field := range fields {
		switch f := field.(type) {
		case *string:
			args = append(args, *f)
		case *int:
			args = append(args, *f)
		case *int64:
			args = append(args, *f)
		case *bool:
			args = append(args, *f)
		case driver.Valuer:
			value, err := f.Value()
			if err != nil {
				return memory.Errorf(memory.Invalid, "write a row: %w", err)
			}
			args = append(args, value)
		default: // a pointer to a defined string type
			args = append(args, reflect.ValueOf(field).Elem().String())
		}
	}
	return t.exec(query, args...)
}
