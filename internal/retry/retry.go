// Package retry repeats calls to a database server that is briefly unavailable.
package retry

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/loci-memory/loci/memory"
)

// How long reads and writes are retried: a person waits for a read, while a write must survive the
// server's restart or failover.
const (
	ReadPatience  = 2 * time.Second
	WritePatience = 15 * time.Second
)

// The wait between two attempts doubles from the first to the longest.
const (
	FirstWait   = 5 * time.Millisecond
	LongestWait = 500 * time.Millisecond
)

// Patience returns how long a read is retried: as long as the write that needs it, if there is one.
func Patience(ctx context.Context) time.Duration {
	if memory.IsForWrite(ctx) {
		return WritePatience
	}
	return ReadPatience
}

// Do calls do until it succeeds, may not be repeated, or ctx or patience ends.
func Do(ctx context.Context, patience time.Duration, do func() (again bool, err error)) error {
	start := time.Now()
	for wait := FirstWait; ; wait = min(2*wait, LongestWait) {
		again, err := do()
		if err == nil || !again || time.Since(start)+wait > patience {
			return err
		}
		if err := Pause(ctx, wait); err != nil {
			return err
		}
	}
}

// Pause waits for about that long, or until ctx ends.
func Pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait/2 + rand.N(wait)): // spread concurrent retries
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Withheld is a server's error as shown to users: without the server's address and the names of
// databases and users, which the cause may contain.
type Withheld struct {
	Message string
	Cause   error
}

func (w *Withheld) Error() string { return w.Message }

// Unwrap returns the cause, for the log.
func (w *Withheld) Unwrap() error { return w.Cause }
