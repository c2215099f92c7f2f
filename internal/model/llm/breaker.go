package llm

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	// maxFailures is the number of consecutive failures after which a server is skipped.
	failuresInRow = 3

	// A skipped server is tried again after firstPause. Each further failure doubles the pause, up to
	// longestPause.
	firstRest   = 5 * time.Second
	longestRest = time.Minute

	// maxRetryAfter is the maximum delay that Loci accepts from a server's Retry-After header.
	longestWish = 15 * time.Minute
)

// breaker is a circuit breaker: it skips an unresponsive server for interactive questions, which would
// otherwise wait until their deadline. The zero breaker skips no server.
type breaker struct {
	mu    sync.Mutex // guards the other fields
	fails int        // number of consecutive failures
	until time.Time  // end of the pause: then one question tries the server, while other questions still skip it
	why   error      // error of the latest failure
}

// try calls ask, unless the server is skipped. It counts a failure unless the caller canceled the request.
func (b *breaker) try(ctx context.Context, ask func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.enter(); err != nil {
		return err
	}
	err := ask()
	switch {
	case err == nil:
		b.answered()
	case !errors.Is(err, context.Canceled):
		b.failed(err)
	}
	return err
}

func (b *breaker) enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if left := b.until.Sub(now); left > 0 {
		return memory.Errorf(memory.Unavailable, "the server is skipped for %v after failures: %w", max(left.Round(time.Second), time.Second), b.why)
	}
	if b.fails >= failuresInRow {
		b.until = now.Add(questionTime)
	}
	return nil
}

// recordSuccess ends the pause.
func (b *breaker) answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails, b.until, b.why = 0, time.Time{}, nil
}

func (b *breaker) failed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails++
	b.why = err
	rest := time.Duration(0)
	if more := b.fails - failuresInRow; more >= 0 {
		rest = min(firstRest<<min(more, 8), longestRest)
	}
	if f := asFailure(err); f != nil {
		rest = max(rest, min(f.after, longestWish))
	}
	b.until = time.Now().Add(rest)
}

// Skipped returns the reason why interactive questions skip the server, or nil if they do not.
func (b *breaker) Skipped() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails >= failuresInRow || time.Now().Before(b.until) {
		return b.why
	}
	return nil
}
