package llm

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	// failuresInRow is after how many questions without an answer a server is skipped.
	failuresInRow = 3

	// A server that is skipped is tried again after firstRest, after each further failure twice
	// as late, and after longestRest at last.
	firstRest   = 5 * time.Second
	longestRest = time.Minute

	// longestWish bounds how long a server may ask to be left alone.
	longestWish = 15 * time.Minute
)

// breaker skips a server that does not answer those who wait. Each question would otherwise
// wait its whole share of the deadline. The zero breaker skips nothing.
type breaker struct {
	mu    sync.Mutex // guards what follows
	fails int        // in a row
	until time.Time  // the next question is asked then, and the others wait for what becomes of it
	why   error      // of the last failure
}

// try asks, unless the server is skipped. A failure counts where the server had time to answer.
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
		return memory.Errorf(memory.Unavailable, "it is skipped for %v: %w", max(left.Round(time.Second), time.Second), b.why)
	}
	if b.fails >= failuresInRow {
		b.until = now.Add(questionTime)
	}
	return nil
}

// answered says that the server answered somebody.
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

// Skipped returns why the server is not asked by those who wait, nil where it is.
func (b *breaker) Skipped() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails >= failuresInRow || time.Now().Before(b.until) {
		return b.why
	}
	return nil
}
