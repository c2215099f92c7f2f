// Package retry repeats calls to a database server that is briefly unavailable.
package retry

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/loci-memory/loci/memory"
)

// ReadPatience and WritePatience limit retries: a person waits for a read, while a write must
// survive a restart or failover of the server.
const (
	ReadPatience  = 2 * time.Second
	WritePatience = 15 * time.Second
)

// The wait between attempts doubles from FirstWait to LongestWait.
const (
	FirstWait   = 5 * time.Millisecond
	LongestWait = 500 * time.Millisecond
)

// Patience returns how long a read is retried: as long as a write if the read is part of one.
func Patience(ctx context.Context) time.Duration {
	if memory.IsForWrite(ctx) {
		return WritePatience
	}
	return ReadPatience
}

// Do calls do until it succeeds, forbids a repetition, or ctx or patience ends.
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

// Pause waits for about wait, or until ctx ends.
func Pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait/2 + rand.N(wait)): // spread concurrent retries
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Withheld is a server's error in the form for users. It omits the server's address and the names
// of databases and users, which the cause may contain.
type Withheld struct {
	Message string
	Cause   error
}

func (w *Withheld) Error() string { return w.Message }

// Unwrap returns the cause, for the log.
func (w *Withheld) Unwrap() error { return w.Cause }
