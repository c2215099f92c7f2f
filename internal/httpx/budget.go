package httpx

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/loci-memory/loci/memory"
)

const (
	// smallBody is the size up to which bodies have a share of the budget of their own, so
	// that large ones do not keep out ordinary requests.
	smallBody = 64 << 10

	// smallShare is that share: one part of so many.
	smallShare = 16

	// retryAfter is how many seconds a client is asked to wait for room in the budget.
	retryAfter = 5
)

// Budget bounds the bytes of request bodies that a process holds in memory at a time.
type Budget struct {
	most int64
	used atomic.Int64
}

// NewBudget returns a budget of so many bytes.
func NewBudget(most int64) *Budget { return &Budget{most: most} }

// take counts n more bytes of a body that then has size bytes, and reports whether there is
// room for them. They count in any case until they are given back.
func (b *Budget) take(n, size int64) bool {
	if b == nil {
		return true
	}
	most := b.most
	if size > smallBody {
		most -= most / smallShare
	}
	return b.used.Add(n) <= most
}

func (b *Budget) give(n int64) {
	if b != nil {
		b.used.Add(-n)
	}
}

// errOverBudget is the refusal of a body for which there is no memory now.
var errOverBudget = &Problem{
	Title: http.StatusText(http.StatusServiceUnavailable), Status: http.StatusServiceUnavailable, Code: memory.Unavailable,
	Detail: "too many large requests at once; try again",
}

// OverBudget reports whether a body was not read since there is no memory for it now. See
// [Unread].
func OverBudget(err error) bool { return errors.Is(err, error(errOverBudget)) }

// countedBody is a request's body whose bytes count as held in memory until the request ends.
type countedBody struct {
	io.ReadCloser
	budget  *Budget
	held    int64
	over    bool   // it did not fit
	partial []byte // what [ReadBody] read of it then
}

func (b *countedBody) Read(p []byte) (int, error) {
	if b.over {
		return 0, errOverBudget
	}
	n, err := b.ReadCloser.Read(p)
	b.held += int64(n)
	if !b.budget.take(int64(n), b.held) {
		b.over = true
		return n, errOverBudget
	}
	return n, err
}

// Unread returns the body of a request that [ReadBody] refused as [OverBudget], from its
// beginning. What is still to come is not held in memory.
func Unread(r *http.Request) io.Reader {
	b, ok := r.Body.(*countedBody)
	if !ok {
		return r.Body
	}
	return io.MultiReader(bytes.NewReader(b.partial), b.ReadCloser)
}
