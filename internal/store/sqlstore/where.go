package sqlstore

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/ownerdata"
)

// limitClause returns a LIMIT of at least n rows; callers cut the excess. The limit is a literal, since
// SQLite would plan a query with an argument each time. It is a power of two, so that there are few
// distinct statements.
func limitClause(n int) string {
	return ` LIMIT ` + strconv.Itoa(roundUpToPowerOf2(n))
}

// where builds a WHERE clause. Its first term compares the owner, which args does not contain, since
// [view.query] adds it.
type where struct {
	terms []string
	args  []any
}

func whereOwner() where { return where{terms: []string{`owner = ?`}} }

func (w *where) and(term string, args ...any) {
	w.terms = append(w.terms, term)
	w.args = append(w.args, args...)
}

// inValues requires that a column has one of values; no values mean no condition.
func (w *where) inValues(column string, values []string) {
	if len(values) > 0 {
		w.and(column+` IN (SELECT value FROM json_each(?))`, textList(values))
	}
}

// inFewValues is inValues for few values, such as ids. It passes each value as an argument, since SQLite
// finds arguments five times as fast as the values of a JSON list.
func (w *where) inFewValues(column string, values []string) {
	if len(values) > maxPlaceholders {
		w.inValues(column, values)
		return
	}
	if len(values) > 0 {
		w.and(column+` IN `+placeholders(len(values)), placeholderArgs(values)...)
	}
}

// maxPlaceholders is the maximum number of values that inFewValues passes as separate arguments.
const maxPlaceholders = 32

// placeholders returns a list of at least n question marks, rounded up to have few distinct statements.
func placeholders(n int) string { return `(?` + strings.Repeat(`,?`, roundUpToPowerOf2(n)-1) + `)` }

// placeholderArgs returns the arguments for placeholders, with the last value repeated to the full number.
func placeholderArgs(values []string) []any {
	args := make([]any, roundUpToPowerOf2(len(values)))
	for i := range args {
		args[i] = values[min(i, len(values)-1)]
	}
	return args
}

// roundUpToPowerOf2 returns the smallest power of two that is at least n.
func roundUpToPowerOf2(n int) int { return 1 << bits.Len(uint(n-1)) }

// afterCursor selects the rows after a cursor, in a list ordered by column, newest first.
func (w *where) afterCursor(cursor, column string) error {
	if cursor == "" {
		return nil
	}
	last, err := ownerdata.DecodeCursor(cursor)
	if err != nil {
		return err
	}
	w.and(`(`+column+`, id) < (?, ?)`, toMicros(last.At), last.ID)
	return nil
}

func (w *where) clause() string { return `WHERE ` + strings.Join(w.terms, ` AND `) }
