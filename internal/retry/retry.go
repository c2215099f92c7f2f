// Package retry asks a database server again that was away for a moment.
package retry

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/loci-memory/loci/memory"
)

// How long reads and writes are tried again: somebody waits for a read, while what is to be
// written outlasts the server's restart or its stand-in's taking over.
const (
	ReadPatience  = 2 * time.Second
	WritePatience = 15 * time.Second
)

// What lies between two tries doubles from the first to the longest.
const (
	FirstWait   = 5 * time.Millisecond
	LongestWait = 500 * time.Millisecond
)

// Patience returns how long a read is tried: as long as the write that waits for it, if there is
// one.
func Patience(ctx context.Context) time.Duration {
	if memory.IsForWrite(ctx) {
		return WritePatience
	}
	return ReadPatience
}

// Do calls do until it succeeds or may not be done again, at the most for as long as ctx and
// patience last.
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

// Pause waits for about that long, unless ctx ends before.
func Pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait/2 + rand.N(wait)): // not all at once
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Withheld is an error of a server as users are told of it: they need not know the server's
// address, nor the names of databases and users, which the cause may quote.
type Withheld struct {
	Said  string
	Cause error
}

func (w *Withheld) Error() string { return w.Said }

// Unwrap returns the cause, for the log.
func (w *Withheld) Unwrap() error { return w.Cause }
