package sqlstore

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/shelf"
)

// limitOf returns a LIMIT of at least n rows. It is rounded up, to keep the texts few, and part of
// the text: an argument would make SQLite plan the statement each time. Callers cut the excess.
func limitOf(n int) string {
	return ` LIMIT ` + strconv.Itoa(roundUp(n))
}

// where is a condition under construction. Its first term is on the owner, who is not among its
// arguments: [view.query] takes those that follow.
type where struct {
	terms []string
	args  []any
}

func ofOwner() where { return where{terms: []string{`owner = ?`}} }

func (w *where) and(term string, args ...any) {
	w.terms = append(w.terms, term)
	w.args = append(w.args, args...)
}

// anyOf narrows a column to the values; none do not narrow.
func (w *where) anyOf(column string, values []string) {
	if len(values) > 0 {
		w.and(column+` IN (SELECT value FROM json_each(?))`, listed(values))
	}
}

// oneOf is anyOf for few values, as ids: as single arguments, which SQLite looks up in a fifth of
// the time of a list.
func (w *where) oneOf(column string, values []string) {
	if len(values) > maxListed {
		w.anyOf(column, values)
		return
	}
	if len(values) > 0 {
		w.and(column+` IN `+placesFor(len(values)), arguments(values)...)
	}
}

// maxListed bounds the values that are single arguments.
const maxListed = 32

// placesFor returns the text of a list of at least n arguments, rounded up to keep the texts few.
func placesFor(n int) string { return `(?` + strings.Repeat(`,?`, roundUp(n)-1) + `)` }

// arguments returns the values for the places; the last one fills the excess.
func arguments(values []string) []any {
	args := make([]any, roundUp(len(values)))
	for i := range args {
		args[i] = values[min(i, len(values)-1)]
	}
	return args
}

// roundUp returns the next power of two.
func roundUp(n int) int { return 1 << bits.Len(uint(n-1)) }

// after narrows to the rows after a cursor in a list that is newest first.
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
