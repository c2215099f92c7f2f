package sqlstore

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/shelf"
)

// limitOf is a LIMIT of at least n rows. It is rounded up, for the kept texts to
// stay few, and stands in the text: as an argument it would have SQLite plan the
// statement each time it runs. Callers cut what is too much.
func limitOf(n int) string {
	return ` LIMIT ` + strconv.Itoa(roundUp(n))
}

// where is a condition in the making. Its first term is on the owner, who is not
// among its arguments: [view.query] is given those that follow.
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

// oneOf is anyOf for few values, as ids are: they stand in the text as arguments of
// their own, which SQLite looks up in a fifth of the time that it takes over a list.
func (w *where) oneOf(column string, values []string) {
	if len(values) > maxListed {
		w.anyOf(column, values)
		return
	}
	if len(values) > 0 {
		w.and(column+` IN `+placesFor(len(values)), arguments(values)...)
	}
}

// maxListed is how many values are arguments of their own, at most.
const maxListed = 32

// placesFor is the text of a list of at least n arguments, rounded up for the kept
// texts to stay few.
func placesFor(n int) string { return `(?` + strings.Repeat(`,?`, roundUp(n)-1) + `)` }

// arguments are the values for the places; the last one is said again for what is
// left over.
func arguments(values []string) []any {
	args := make([]any, roundUp(len(values)))
	for i := range args {
		args[i] = values[min(i, len(values)-1)]
	}
	return args
}

// roundUp returns the next power of two.
func roundUp(n int) int { return 1 << bits.Len(uint(n-1)) }

// after narrows to what follows a cursor in a list that is newest first.
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
