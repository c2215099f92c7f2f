package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// closedKey is the profile entry of an owner that was erased: until it is opened again
// nothing is written, whoever is still at it.
const closedKey = ownKeys + "closed"

// closings is which owners are closed, as far as this process has looked. The zero
// closings knows nothing.
type closings struct {
	mu    sync.RWMutex
	known map[memory.Owner]bool
}

// mostLooked bounds the owners that are remembered; the others are looked up again.
const mostLooked = 10_000

func (c *closings) is(owner memory.Owner) (closed, known bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	closed, known = c.known[owner]
	return closed, known
}

func (c *closings) set(owner memory.Owner, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= mostLooked {
		c.known = map[memory.Owner]bool{}
	}
	c.known[owner] = closed
}

// learn keeps what was read, unless somebody set it meanwhile.
func (c *closings) learn(owner memory.Owner, closed bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, known := c.known[owner]; known {
		return now
	}
	if c.known == nil || len(c.known) >= mostLooked {
		c.known = map[memory.Owner]bool{}
	}
	c.known[owner] = closed
	return closed
}

// closing marks the writes that close, empty and open an owner.
type closing struct{}

// mayWrite returns [memory.Gone] for an owner that is closed.
func (e *Engine) mayWrite(ctx context.Context, owner memory.Owner) error {
	if ctx.Value(closing{}) != nil || !owner.Valid() {
		return nil
	}
	closed, err := e.isClosed(ctx, owner)
	if err == nil && closed {
		err = memory.Errorf(memory.Gone, "the memory of %s was erased and is closed; it can be opened again", CalledOwner(owner))
	}
	return err
}

// isClosed reports whether an owner was erased and not opened since. What another
// server closes is seen here once this one looks anew; what it writes meanwhile the job
// of the erasure removes.
func (e *Engine) isClosed(ctx context.Context, owner memory.Owner) (bool, error) {
	if closed, known := e.closed.is(owner); known {
		return closed, nil
	}
	_, err := e.entry(memory.ForWrite(ctx), owner, closedKey)
	if err != nil && !errors.Is(err, memory.NotFound) {
		return false, fmt.Errorf("ask whether the memory is closed: %w", err)
	}
	return e.closed.learn(owner, err == nil), nil
}
