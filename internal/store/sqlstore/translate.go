package sqlstore

import (
	"database/sql"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loci-memory/loci/internal/lazy"
)

// translator says to PostgreSQL what is written for SQLite: the statements and, since
// it keeps no U+0000 in a text, the values.
type translator struct {
	texts    sync.Map                 // of statements that were translated before
	pgvector atomic.Pointer[pgvector] // what the server has of it; nil: nothing
}

// text translates a statement. Statements are few: see [view.query].
func (t *translator) text(query string) string {
	if text, ok := t.texts.Load(query); ok {
		return text.(string)
	}
	text := translate(query)
	t.texts.Store(query, text)
	return text
}

// phrases are what the two say differently. Hints for SQLite's planner go; numbers of
// arguments come last.
var phrases = []struct {
	of *lazy.Pattern
	to string
}{
	{lazy.Compile(` INDEXED BY \w+`), ``},
	{lazy.Compile(`\+((?:\w+\.)?status\b)`), `$1`},
	{lazy.Compile(`\bCROSS JOIN\b`), `JOIN`},
	{lazy.Compile(`\bIN \(SELECT value FROM json_each\((\?\d*)\)\)`), `= ANY (${1}::text[])`},
	{lazy.Compile(`\bno_learn = 0\b`), `NOT no_learn`},
	{lazy.Compile(`\bno_learn = 1\b`), `no_learn = true`},
	{lazy.Compile(`\?(\d+)`), `$$$1`},
}

func translate(query string) string {
	for _, p := range phrases {
		query = p.of.ReplaceAllString(query, p.to)
	}
	parts := strings.Split(query, "?") // no text of ours has one
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

// values are arguments as the driver takes them, their texts escaped.
func (t *translator) values(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case nil, int, int64, float64, bool, []byte:
			out[i] = arg
		case string:
			out[i] = escape(v)
		case listed:
			texts := make([]string, len(v))
			for j, text := range v {
				texts[j] = escape(text)
			}
			out[i] = texts
		default:
			if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
				out[i] = escape(v.String())
				continue
			}
			out[i] = arg
		}
	}
	return out
}

// restore undoes in what was scanned what values did to texts.
func (t *translator) restore(into []any) {
	for _, to := range into {
		switch v := to.(type) {
		case *string:
			*v = unescape(*v)
		case *sql.NullString:
			v.String = unescape(v.String)
		case *int, *int64, *float64, *bool, *[]byte:
		default:
			if v := reflect.ValueOf(to); v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.String {
				v.Elem().SetString(unescape(v.Elem().String()))
			}
		}
	}
}

// PostgreSQL refuses U+0000 in texts. It is written as U+0001 U+0001, and U+0001 as
// U+0001 U+0002: no two texts become the same, and their order stays. JSON has neither.
var (
	escaper   = strings.NewReplacer("\x00", "\x01\x01", "\x01", "\x01\x02")
	unescaper = strings.NewReplacer("\x01\x01", "\x00", "\x01\x02", "\x01")
)

func escape(s string) string {
	if strings.IndexByte(s, 0) < 0 && strings.IndexByte(s, 1) < 0 {
		return s
	}
	return escaper.Replace(s)
}

func unescape(s string) string {
	if strings.IndexByte(s, 1) < 0 {
		return s
	}
	return unescaper.Replace(s)
}
