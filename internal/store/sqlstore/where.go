package sqlstore

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/shelf"
)

// limitOf returns a LIMIT of at least n rows; callers cut the excess. It is a constant in the text,
// since SQLite would plan a query with an argument each time, and rounded up so that there are few
// texts.
func limitOf(n int) string {
	return ` LIMIT ` + strconv.Itoa(roundUp(n))
}

// where is a condition being built. Its first term compares the owner, which is not in args:
// [view.query] adds it.
type where struct {
	terms []string
	args  []any
}

func ofOwner() where { return where{terms: []string{`owner = ?`}} }

func (w *where) and(term string, args ...any) {
	w.terms = append(w.terms, term)
	w.args = append(w.args, args...)
}

// anyOf narrows a column to the values; no values means no condition.
func (w *where) anyOf(column string, values []string) {
	if len(values) > 0 {
		w.and(column+` IN (SELECT value FROM json_each(?))`, listed(values))
	}
}

// oneOf is anyOf for few values, such as ids. Each value is an argument: SQLite looks these up five
// times as fast as a list.
func (w *where) oneOf(column string, values []string) {
	if len(values) > maxListed {
		w.anyOf(column, values)
		return
	}
	if len(values) > 0 {
		w.and(column+` IN `+placesFor(len(values)), arguments(values)...)
	}
}

// maxListed is the maximum number of values that are separate arguments.
const maxListed = 32

// placesFor returns at least n placeholders, rounded up so that there are few distinct statements.
func placesFor(n int) string { return `(?` + strings.Repeat(`,?`, roundUp(n)-1) + `)` }

// arguments returns the values for the placeholders; the last value fills the excess.
func arguments(values []string) []any {
	args := make([]any, roundUp(len(values)))
	for i := range args {
		args[i] = values[min(i, len(values)-1)]
	}
	return args
}

// roundUp returns the next power of two.
func roundUp(n int) int { return 1 << bits.Len(uint(n-1)) }

// after narrows to the rows after a cursor in a list with the newest first.
func (w *where) after(text, column string) error {
	if text == "" {
		return nil
	}
	last, err := shelf.ReadCursor(text)
	if err != nil {
		return err
	}
	w.and(`(`+column+`, id) < (?, ?)`, micros(last.At), last.ID)
	return nil
}

func (w *where) text() string { return `WHERE ` + strings.Join(w.terms, ` AND `) }
