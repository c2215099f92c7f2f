// Package retry repeats calls to a database server after transient errors.
package retry

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/loci-memory/loci/memory"
)

// ReadPatience and WritePatience limit the time for all attempts of a call: a person waits for a read,
// while a write must succeed despite a restart or failover of the server.
const (
	ReadPatience  = 2 * time.Second
	WritePatience = 15 * time.Second
)

// The wait between attempts doubles from FirstWait to MaxWait.
const (
	FirstWait = 5 * time.Millisecond
	MaxWait   = 500 * time.Millisecond
)

// Patience returns the time limit of a read with ctx: WritePatience if the read is part of a write.
func Patience(ctx context.Context) time.Duration {
	if memory.IsForWrite(ctx) {
		return WritePatience
	}
	return ReadPatience
}

// Do calls do until it succeeds or returns false for mayRepeat, or until ctx ends or patience is over.
func Do(ctx context.Context, patience time.Duration, do func() (mayRepeat bool, err error)) error {
	start := time.Now()
	for wait := FirstWait; ; wait = min(2*wait, MaxWait) {
		mayRepeat, err := do()
		if err == nil || !mayRepeat || time.Since(start)+wait > patience {
			return err
		}
		if err := Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// Sleep waits for a random time from wait/2 to 3*wait/2, or until ctx ends.
func Sleep(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait/2 + rand.N(wait)): // random, to spread concurrent retries
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RedactedError is an error of a server for users. Its message omits the server's address and the names of
// databases and database users, which the cause may contain.
type RedactedError struct {
	Message string
	Cause   error
}

func (w *RedactedError) Error() string { return w.Message }

// Unwrap returns the cause, for the log.
func (w *RedactedError) Unwrap() error { return w.Cause }
