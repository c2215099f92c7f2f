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
	// maxSmallBody is the maximum size in bytes of small bodies, which have their own share of the budget, so
	// that large bodies do not keep out ordinary requests.
	maxSmallBody = 64 << 10

	// smallDivisor sets the share of small bodies: 1/smallDivisor of the budget.
	smallDivisor = 16

	// Bodies of more than minLargeBody bytes are large. When the finished large bodies add up to 1/gcDivisor of the
	// budget, a garbage collection starts after gcDelay, which leaves time for processing the bodies.
	minLargeBody = 1 << 20
	gcDivisor    = 16
	gcDelay      = 10 * time.Second

	// retryAfter is the time that a client should wait before it tries again.
	retryAfter = 5 * time.Second
)

// Budget limits the bytes of request bodies in the process's memory at a time.
type Budget struct {
	limit     int64        // maximum bytes
	usedBytes atomic.Int64 // bytes of the current bodies

	mu           sync.Mutex  // guards the fields below
	garbageBytes int64       // bytes of finished large bodies that may still be in memory
	gcTimer      *time.Timer // starts the garbage collection; nil if none is planned
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// acquire counts n more bytes of a body and reports whether they fit in the budget. bodySize is the number of the
// body's bytes read so far. The n bytes count until they are released, even if they do not fit.
func (b *Budget) acquire(n, bodySize int64) bool {
	if b == nil {
		return true
	}
	limit := b.limit
	if bodySize > maxSmallBody {
		limit -= limit / smallDivisor
	}
	return b.usedBytes.Add(n) <= limit
}

// release releases n bytes. On an idle server, Go's collector may not run for minutes after many large bodies,
// so release also plans a garbage collection that returns memory to the system.
func (b *Budget) release(n int64) {
	if b == nil {
		return
	}
	b.usedBytes.Add(-n)
	if n <= minLargeBody {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.garbageBytes += n; b.garbageBytes < b.limit/gcDivisor || b.gcTimer != nil {
		return
	}
	b.gcTimer = time.AfterFunc(gcDelay, func() {
		b.mu.Lock()
		b.garbageBytes, b.gcTimer = 0, nil
		b.mu.Unlock()
		debug.FreeOSMemory()
	})
}

// errOverBudget is the error for a body that does not fit in memory now.
var errOverBudget = &Problem{
	retryAfter: retryAfter,
	Title:      http.StatusText(http.StatusServiceUnavailable), Status: http.StatusServiceUnavailable, Code: memory.Unavailable,
	Detail: "too many large requests at the same time; try again",
}

// IsOverBudget reports whether err means that a body does not fit in memory now. [UnreadBody] can stream it.
func IsOverBudget(err error) bool { return errors.Is(err, error(errOverBudget)) }

// countedBody is a request's body whose bytes count in the budget until the request ends.
type countedBody struct {
	io.ReadCloser
	budget       *Budget
	countedBytes int64  // bytes counted in the budget
	overBudget   bool   // the body did not fit in the budget
	partial      []byte // bytes that [ReadBody] had read before the body did not fit
}

func (b *countedBody) Read(p []byte) (int, error) {
	if b.overBudget {
		return 0, errOverBudget
	}
	n, err := b.ReadCloser.Read(p)
	b.countedBytes += int64(n)
	if !b.budget.acquire(int64(n), b.countedBytes) {
		b.overBudget = true
		return n, errOverBudget
	}
	return n, err
}

// UnreadBody returns the whole body of a request after [ReadBody] failed with an [IsOverBudget] error. The part
// that was not read is streamed.
func UnreadBody(r *http.Request) io.Reader {
	b, ok := r.Body.(*countedBody)
	if !ok {
		return r.Body
	}
	return io.MultiReader(bytes.NewReader(b.partial), b.ReadCloser)
}
