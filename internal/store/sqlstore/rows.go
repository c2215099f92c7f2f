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
type scanner interface{ Scan(into ...any) error }

// unixEpochSeconds is the number of seconds from the zero time to 1970.
const yearOne = 62135596800

// toMicros returns the stored form of a time: microseconds since the zero time.
func micros(t time.Time) int64 {
	return (t.Unix()+yearOne)*1_000_000 + int64(t.Nanosecond()/1000)
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(n/1_000_000-yearOne, n%1_000_000*1000).UTC()
}

// encodeList returns the stored form of a list of texts: JSON, or "" for an empty list.
func list(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	data, _ := json.Marshal(texts) // strings always marshal
	return string(data)
}

// textList is a list of texts that is the argument of json_each(?).
type listed []string

func listOf[T ~string](values []T) listed {
	all := make(listed, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}

// Value returns the list as JSON, for SQLite.
func (l listed) Value() (driver.Value, error) { return cmp.Or(list(l), `[]`), nil }

func toJSON(value any) (string, error) {
	data, err := json.Marshal(value)
	return string(data), err
}

// These types convert between a field and its column, where the two have different types.
type (
	asTime   struct{ t *time.Time }       // microseconds since the year 1
	asList   struct{ texts *[]string }    // JSON array, "" for an empty list
	asJSON   struct{ value any }          // JSON
	asText   struct{ b *json.RawMessage } // JSON, "" for nil
	asNumber struct{ n *float64 }
	asCore   struct { // a boolean column: whether *core equals value
		of *memory.Core
		is memory.Core
	}
	asQuote struct { // the column of one field of a quote, NULL if there is no quote
		of   **memory.Span
		part func(*memory.Span) any
	}
)

// maxMicros is the end of the year 9999, since JSON cannot represent later times.
const lastMicro = (253402300799+yearOne)*1_000_000 + 999_999

// Scan reads a time, and refuses a value out of range.
func (a asTime) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return fmt.Errorf("time column: want an integer, got %T", src)
	}
	if n < -lastMicro || n > lastMicro {
		return errors.New("time column: out of range")
	}
	*a.t = fromMicros(n)
	return nil
}

// Value returns the stored form of the field.
func (a asTime) Value() (driver.Value, error) { return micros(*a.t), nil }

// Scan reads a list.
func (a asList) Scan(src any) error {
	if src == "" {
		return nil
	}
	return asJSON{a.texts}.Scan(src)
}

// Value returns the stored form of the field.
func (a asList) Value() (driver.Value, error) { return list(*a.texts), nil }

// Scan reads JSON into a value.
func (a asJSON) Scan(src any) error {
	s, ok := src.(string)
	if !ok {
		return fmt.Errorf("JSON column: want a string, got %T", src)
	}
	return json.Unmarshal([]byte(s), a.value)
}

// Value returns the stored form of the field.
func (a asJSON) Value() (driver.Value, error) { return toJSON(a.value) }

// Scan reads JSON, and refuses invalid JSON.
func (a asText) Scan(src any) error {
	s, ok := src.(string)
	if !ok || s != "" && !json.Valid([]byte(s)) {
		return errors.New("the column is not JSON")
	}
	if s != "" {
		*a.b = json.RawMessage(s)
	}
	return nil
}

// Value returns the stored form of the field.
func (a asText) Value() (driver.Value, error) { return string(*a.b), nil }

// Scan reads a number, and refuses NaN and infinity.
func (a asNumber) Scan(src any) error {
	n, ok := src.(float64)
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
		return errors.New("the column is not a number")
	}
	*a.n = n
	return nil
}

// Value returns the stored form of the field.
func (a asNumber) Value() (driver.Value, error) { return *a.n, nil }

// Scan reads a boolean, which SQLite stores as a number.
func (a asCore) Scan(src any) error {
	if src == true || src == int64(1) {
		*a.of = cmp.Or(*a.of, a.is)
	}
	return nil
}

// Value returns the stored form of the field.
func (a asCore) Value() (driver.Value, error) { return *a.of == a.is, nil }

// Scan reads one field of a quote.
func (a asQuote) Scan(src any) error {
	if src == nil {
		return nil
	}
	if *a.of == nil {
		*a.of = &memory.Span{}
	}
	switch part := a.part(*a.of).(type) {
	case *string:
		*part, _ = src.(string)
	case *int:
		n, _ := src.(int64)
		*part = int(n)
	}
	return nil
}

// Value returns the stored form of the field.
func (a asQuote) Value() (driver.Value, error) {
	if *a.of == nil {
		return nil, nil
	}
	if part, ok := a.part(*a.of).(*int); ok {
		return int64(*part), nil
	}
	return *a.part(*a.of).(*string), nil
}

// insert runs a statement whose arguments are the owner and then the fields.
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
