package core

import (
	"cmp"
	"sync"
)

// Core is what all packages of the engine share: its parts, settings, clock and ids, and what
// is known of users. It is safe for concurrent use.
type Core struct {
	Parts

	Opts       Options
	Blocks     *blockCache
	Writes     *turnstile
	Lull       Lull
	Closed     Closings
	names      displayNames
	Clients    clientsSeen
	Loading    sync.Mutex     // held while memories are read ahead: see Loaded
	Background sync.WaitGroup // what was begun for a chat and may outlast it
}

// New returns a core made of parts.
func New(parts Parts, opts Options) *Core {
	opts.Messages = cmp.Or(opts.Messages, 2000)
	return &Core{Parts: parts, Opts: opts, Blocks: NewBlockCache(), Writes: NewTurnstile()}
}
