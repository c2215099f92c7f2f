package llm

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	// failuresInRow is the number of failures after which a server is skipped.
	failuresInRow = 3

	// A skipped server is tried again after firstRest. Each further failure doubles the time, up to
	// longestRest.
	firstRest   = 5 * time.Second
	longestRest = time.Minute

	// longestWish bounds a server's Retry-After.
	longestWish = 15 * time.Minute
)

// breaker skips an unresponsive server for interactive questions, whose whole deadline it would use up. The
// zero breaker skips nothing.
type breaker struct {
	mu    sync.Mutex // guards the fields below
	fails int        // failures in a row
	until time.Time  // time at which one question tries the server again, while other questions still skip it
	why   error      // error of the last failure
}

// try calls ask, unless the server is skipped. A failure counts only if the server had enough time to answer.
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
		return memory.Errorf(memory.Unavailable, "the server is skipped for %v: %w", max(left.Round(time.Second), time.Second), b.why)
	}
	if b.fails >= failuresInRow {
		b.until = now.Add(questionTime)
	}
	return nil
}

// answered records a success.
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

// Skipped returns the reason why interactive questions skip the server, nil if they do not.
func (b *breaker) Skipped() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails >= failuresInRow || time.Now().Before(b.until) {
		return b.why
	}
	return nil
}
