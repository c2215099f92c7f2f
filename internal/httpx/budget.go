package httpx

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	// smallBody is the size up to which bodies have a share of the budget of their own, so
	// that large ones do not keep out ordinary requests.
	smallBody = 64 << 10

	// smallShare is that share: one part of so many.
	smallShare = 16

	// largeBody, tidyShare and tidyDelay say when garbage is collected: so long after the large
	// bodies that ended came to this share of the budget. It leaves time for what is done with
	// them afterwards, and is seldom enough not to be noticed.
	largeBody = 1 << 20
	tidyShare = 16
	tidyDelay = 10 * time.Second

	// retryAfter is how long a client is asked to wait for room in the budget.
	retryAfter = 5 * time.Second
)

// Budget bounds the bytes of request bodies that a process holds in memory at a time.
type Budget struct {
	most int64
	used atomic.Int64

	mu      sync.Mutex  // guards what follows
	garbage int64       // bytes of large bodies that were given back and may still be in memory
	tidy    *time.Timer // gives them back to the system
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

// give ends the counting of n bytes. Go's collector may not run for minutes after many large
// bodies, when nothing else happens: so that the process does not stay that large, it is run.
func (b *Budget) give(n int64) {
	if b == nil {
		return
	}
	b.used.Add(-n)
	if n <= largeBody {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.garbage += n; b.garbage < b.most/tidyShare || b.tidy != nil {
		return
	}
	b.tidy = time.AfterFunc(tidyDelay, func() {
		b.mu.Lock()
		b.garbage, b.tidy = 0, nil
		b.mu.Unlock()
		debug.FreeOSMemory()
	})
}

// errOverBudget is the refusal of a body for which there is no memory now.
var errOverBudget = &Problem{
	retry: retryAfter,
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
