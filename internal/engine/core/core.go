// Package core holds what all packages of the engine share: store, index, embedder and models,
// settings, clock and ids, and plain reads and writes of an owner's memory.
package core

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// Core is what all packages of the engine share: its parts, settings, clock and ids, and what
// is known of users. It is safe for concurrent use.
type Core struct {
	Parts

	Opts       Options
	Blocks     *BlockCache
	Writes     *KeyedMutex
	Idle       IdleGate
	Closed     ClosedOwners
	names      recent.Map[memory.Owner, string] // that were written or found written
	Clients    clientsSeen
	Background sync.WaitGroup // what was begun for a chat and may outlast it
}

// New returns a core made of parts.
func New(parts Parts, opts Options) *Core {
	return &Core{Parts: parts, Opts: opts, Blocks: NewBlockCache(), Writes: NewKeyedMutex()}
}

// Ping reports whether the store answers. One that has a database asks that.
func (e *Core) Ping(ctx context.Context) error { return Ping(ctx, e.Store) }

// Ping asks a store whether it answers; a store that cannot say so does.
func Ping(ctx context.Context, store memory.Store) error {
	if p, ok := store.(interface{ Ping(context.Context) error }); ok {
		return p.Ping(ctx)
	}
	_, err := store.Versions(ctx, nil)
	return err
}

// secretLength is how much of a message beyond limits.text is looked at for secrets: one
// that is cut in two would not be recognized. It is longer than a private key.
const secretLength = 8 << 10

// CutMark is what the stored text of a message over limits.text ends with, "" for others.
func (e *Core) CutMark(words string) string {
	if e.Opts.MaxText <= 0 || len(words) <= e.Opts.MaxText {
		return ""
	}
	return fmt.Sprintf("\n[cut: %d bytes in all, SHA-256 %x]", len(words), sha256.Sum256([]byte(words)))
}

// Beginning returns as much of a message as memory looks at, in memory of its own.
func (e *Core) Beginning(words string) string {
	return strings.Clone(Clip(words, e.Opts.MaxText+secretLength))
}

// CutMessages cuts the messages of a chat that are over limits.text, and returns their marks
// by index. Their digests remain those of the whole messages, by which placing knows them.
func (e *Core) CutMessages(chat *chatapi.Chat) map[int]string {
	marks := map[int]string{}
	for i := range chat.Messages {
		m := &chat.Messages[i]
		if mark := e.CutMark(m.Text); mark != "" {
			marks[i], m.Text = mark, e.Beginning(m.Text)
		}
	}
	return marks
}

// Stored returns a message as it is stored: without secrets and, if it has a mark, cut to
// limits.text with the mark at its end.
func (e *Core) Stored(words, mark string) string {
	words = learn.Redact(words, e.Opts.Learn.Personal)
	if mark == "" {
		return words
	}
	return Clip(words, max(0, e.Opts.MaxText-len(mark))) + mark
}

// Acceptance says whose consent a fact needs that a user shares with another user.
type Acceptance string

// ByDialog is who decides that a turn left the path, or came back to it.
var ByDialog = memory.Author{Kind: memory.ByRule, Name: "dialog"}

// Guarded turns a panic of do into an error, so that a chat goes on.
func Guarded(e *Core, do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			e.Log.Error("panic", "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return do()
}

// Beside runs do, [Guarded], beside the caller. It returns what waits for the result, or
// for the end of a context, which is then the error.
func Beside[T any](e *Core, do func() (T, error)) (wait func(context.Context) (T, error)) {
	var value T
	var err error
	done := make(chan struct{})
	e.Background.Go(func() {
		defer close(done)
		err = Guarded(e, func() (err error) { value, err = do(); return err })
	})
	return func(ctx context.Context) (none T, _ error) {
		select {
		case <-done:
			return value, err
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
}
