// Package core holds what all packages of the engine share: store, index, embedder, models,
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

// Core holds the parts, settings, clock, ids and user state that all packages of the engine share.
// It is safe for concurrent use.
type Core struct {
	Parts

	Opts       Options
	Blocks     *BlockCache
	Writes     *KeyedMutex
	Idle       IdleGate
	Closed     ClosedOwners
	names      recent.Map[memory.Owner, string] // written already, or read as written
	Clients    clientsSeen
	Background sync.WaitGroup // work of chats that may outlast them
}

// New returns a core with the parts and options.
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

// secretLength is how much of a message beyond limits.text is searched for secrets, so that a
// secret cut in two is recognized. It exceeds a private key.
const secretLength = 8 << 10

// CutMark returns the mark at the end of a message cut to limits.text, "" for others.
func (e *Core) CutMark(words string) string {
	if e.Opts.MaxText <= 0 || len(words) <= e.Opts.MaxText {
		return ""
	}
	return fmt.Sprintf("\n[cut: %d bytes in all, SHA-256 %x]", len(words), sha256.Sum256([]byte(words)))
}

// Beginning returns a copy of the part of a message that memory reads.
func (e *Core) Beginning(words string) string {
	return strings.Clone(Clip(words, e.Opts.MaxText+secretLength))
}

// CutMessages cuts a chat's messages over limits.text, and returns their marks by index. Digests
// stay those of the whole messages, since placing compares them.
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

// Acceptance is whose consent sharing a fact with another user needs.
type Acceptance string

// ByDialog is the author of changes caused by turns that left or rejoined the path.
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

// Async runs do, [Guarded], in the background. The returned wait blocks for the result or the end
// of its context.
func Async[T any](e *Core, do func() (T, error)) (wait func(context.Context) (T, error)) {
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
