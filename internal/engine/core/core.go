// Package core contains the parts that all packages of the engine share: store, index, embedder,
// models, settings, clock and ids, and simple reads and writes of an owner's memory.
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

// Core contains the parts, settings, clock, ids and user state that all packages of the engine share.
// It is safe for concurrent use.
type Core struct {
	Parts

	Opts              Options
	Blocks            *BlockCache
	ConversationLocks *KeyedMutex
	Idle              IdleGate
	ClosedOwners      ClosedOwners
	displayNames      recent.Map[memory.Owner, string] // display names that this process read or wrote
	LastClients       lastClients
	Background        sync.WaitGroup // background work of chats that may outlast their requests
}

// New returns a core with the parts and options.
func New(parts Parts, opts Options) *Core {
	return &Core{Parts: parts, Opts: opts, Blocks: NewBlockCache(), ConversationLocks: NewKeyedMutex()}
}

// Ping reports whether the store answers. A database store pings its database.
func (e *Core) Ping(ctx context.Context) error { return Ping(ctx, e.Store) }

// Ping reports whether a store answers. Without a Ping method it reads the versions.
func Ping(ctx context.Context, store memory.Store) error {
	if p, ok := store.(interface{ Ping(context.Context) error }); ok {
		return p.Ping(ctx)
	}
	_, err := store.Versions(ctx, nil)
	return err
}

// secretMargin is the number of bytes after limits.text that are searched for secrets, so that a
// secret at the limit is recognized. It exceeds the length of a private key.
const secretMargin = 8 << 10

// CutMark returns the text that ends a message cut to limits.text, or "" for shorter messages.
func (e *Core) CutMark(content string) string {
	if e.Opts.MaxTextBytes <= 0 || len(content) <= e.Opts.MaxTextBytes {
		return ""
	}
	return fmt.Sprintf("\n[cut: %d bytes in all, SHA-256 %x]", len(content), sha256.Sum256([]byte(content)))
}

// Truncate returns a copy of a message, cut to limits.text plus [secretMargin] bytes.
func (e *Core) Truncate(content string) string {
	return strings.Clone(Clip(content, e.Opts.MaxTextBytes+secretMargin))
}

// CutMessages cuts the chat's messages that exceed limits.text, and returns their cut marks by index.
// The messages keep the digests of their complete texts, which placement compares.
func (e *Core) CutMessages(chat *chatapi.Chat) map[int]string {
	cutMarks := map[int]string{}
	for i := range chat.Messages {
		m := &chat.Messages[i]
		if mark := e.CutMark(m.Text); mark != "" {
			cutMarks[i], m.Text = mark, e.Truncate(m.Text)
		}
	}
	return cutMarks
}

// StoredText returns the stored form of a message: without secrets and, if cutMark is not empty, cut to
// limits.text and followed by cutMark.
func (e *Core) StoredText(content, cutMark string) string {
	content = learn.Redact(content, e.Opts.Learn.RedactPersonal)
	if cutMark == "" {
		return content
	}
	return Clip(content, max(0, e.Opts.MaxTextBytes-len(cutMark))) + cutMark
}

// Acceptance determines who must accept a fact before it is shared with another user.
type Acceptance string

// ByBranchSwitch is the author of changes after turns left or rejoined the current branch.
var ByBranchSwitch = memory.Author{Kind: memory.ByRule, Name: "dialog"}

// CatchPanic runs do and returns its error or its panic as an error, so that a chat can continue.
func CatchPanic(e *Core, do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			e.Log.Error("panic", "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return do()
}

// Async runs do in the background, like [CatchPanic]. The returned wait function blocks until do
// returns or the context ends.
func Async[T any](e *Core, do func() (T, error)) (wait func(context.Context) (T, error)) {
	var value T
	var err error
	done := make(chan struct{})
	e.Background.Go(func() {
		defer close(done)
		err = CatchPanic(e, func() (err error) { value, err = do(); return err })
	})
	return func(ctx context.Context) (zero T, _ error) {
		select {
		case <-done:
			return value, err
		case <-ctx.Done():
			return zero, ctx.Err()
		}
	}
}
