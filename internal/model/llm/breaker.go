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
	maxFailures = 3

	// A skipped server is tried again after firstPause. Each further failure doubles the pause, up to
	// longestPause.
	firstPause   = 5 * time.Second
	longestPause = time.Minute

	// maxRetryAfter is the maximum delay that Loci accepts from a server's Retry-After header.
	maxRetryAfter = 15 * time.Minute
)

// breaker is a circuit breaker: it skips an unresponsive server for interactive questions, which would
// otherwise wait until their deadline. The zero breaker skips no server.
type breaker struct {
	mu       sync.Mutex // guards the other fields
	failures int        // number of consecutive failures
	pauseEnd time.Time  // end of the pause, after which one question tries the server while other questions still skip it
	lastErr  error      // error of the latest failure
}

// try calls request, unless the server is skipped. It counts errors of request, except if the caller canceled.
func (b *breaker) try(ctx context.Context, request func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.checkPause(); err != nil {
		return err
	}
	err := request()
	switch {
	case err == nil:
		b.recordSuccess()
	case !errors.Is(err, context.Canceled):
		b.recordFailure(err)
	}
	return err
}

func (b *breaker) checkPause() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if remaining := b.pauseEnd.Sub(now); remaining > 0 {
		return memory.Errorf(memory.Unavailable, "the server is skipped for %v after failures: %w", max(remaining.Round(time.Second), time.Second), b.lastErr)
	}
	if b.failures >= maxFailures {
		b.pauseEnd = now.Add(questionTimeout)
	}
	return nil
}

func (b *breaker) recordSuccess() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.pauseEnd, b.lastErr = 0, time.Time{}, nil
}

func (b *breaker) recordFailure(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	b.lastErr = err
	pause := time.Duration(0)
	if extra := b.failures - maxFailures; extra >= 0 {
		pause = min(firstPause<<min(extra, 8), longestPause)
	}
	if f := failureIn(err); f != nil {
		pause = max(pause, min(f.retryDelay, maxRetryAfter))
	}
	b.pauseEnd = time.Now().Add(pause)
}

// Skipped returns the reason why interactive questions skip the server, or nil if they do not.
func (b *breaker) Skipped() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures >= maxFailures || time.Now().Before(b.pauseEnd) {
		return b.lastErr
	}
	return nil
}
