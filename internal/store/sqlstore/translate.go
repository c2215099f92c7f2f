package sqlstore

import (
	"database/sql"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// translator translates statements from SQLite to PostgreSQL. It also translates values, since
// PostgreSQL allows no U+0000 in a text.
type translator struct {
	translations sync.Map                 // caches translated statements
	pgvector     atomic.Pointer[pgvector] // nil if the server has no pgvector
}

// translateCached translates a statement and caches the result.
func (t *translator) translateCached(query string) string {
	if text, ok := t.translations.Load(query); ok {
		return text.(string)
	}
	text := translate(query)
	t.translations.Store(query, text)
	return text
}

// dialectReplacer translates SQLite's syntax, and removes the unary plus, a hint for SQLite's planner.
var dialectReplacer = strings.NewReplacer(
	` IN (SELECT value FROM json_each(`, ` = ANY ((`,
	`+status`, `status`,
	`+f.status`, `f.status`,
	`no_learn = 0`, `NOT no_learn`,
)

// translate translates a statement, also its ? to $1, $2, …: no statement has a literal question mark.
func translate(query string) string {
	var b strings.Builder
	for i, part := range strings.Split(dialectReplacer.Replace(query), "?") {
		if i > 0 {
			b.WriteByte('$')
			if part == "" || part[0] < '0' || part[0] > '9' {
				b.WriteString(strconv.Itoa(i))
			}
		}
		b.WriteString(part)
	}
	return b.String()
}

// escapeArgs returns arguments for the driver, with escaped texts.
func (t *translator) escapeArgs(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case nil, int, int64, float64, bool, []byte:
			out[i] = arg
		case string:
			out[i] = escape(v)
		case textList:
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

// unescapeValues unescapes scanned values.
func (t *translator) unescapeValues(dest []any) {
	for _, to := range dest {
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

// PostgreSQL refuses U+0000 in texts, so U+0000 is written as U+0001 U+0001, and U+0001 as U+0001
// U+0002, which retains the order of texts. JSON contains neither character.
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
