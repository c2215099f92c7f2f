package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// ClosedKey is the profile entry of an owner that was erased: until it is opened again
// nothing is written, whoever is still at it. Its value is when that was.
const ClosedKey = OwnKeys + "closed"

// Closings is which owners are closed, as far as this process has looked lately. The
// zero closings knows nothing.
type Closings struct {
	mu    sync.RWMutex // guards what follows
	known map[memory.Owner]look
	sets  int // how often something was set: by it what was read before is told apart
}

// look is what was seen of an owner.
type look struct {
	closed bool
	at     time.Time
	set    int // the number of [closings.set] that said so; 0: it was read
}

const (
	// mostLooked bounds the owners that are remembered; the others are looked up again.
	MostLooked = 10_000

	// looksHold is how long what was seen is believed: another server may close an
	// owner, or open one. What this one writes meanwhile for an owner who is closed the
	// first of [eraseAgain] removes, so it has to be well shorter than that.
	looksHold = 10 * time.Second
)

// is returns what is still believed of an owner.
func (c *Closings) is(owner memory.Owner, now time.Time) (l look, known bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	l, known = c.known[owner]
	if age := now.Sub(l.at); !known || age < 0 || age >= looksHold {
		return look{}, false
	}
	return l, true
}

// Set keeps what this process makes of an owner.
func (c *Closings) Set(owner memory.Owner, closed bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sets++
	c.keep(owner, look{closed, now, c.sets})
}

// Follow keeps what changes that this process wrote make of an owner, whoever decided
// them: nothing of before is believed any longer.
func (c *Closings) Follow(owner memory.Owner, changes []memory.Change, now time.Time) {
	for _, change := range changes {
		if p := change.After.Profile; p != nil && p.Key == ClosedKey {
			c.Set(owner, p.Status == memory.Active, now)
		}
	}
}

// Begin returns what to tell [closings.learn] of what is read from now on.
func (c *Closings) Begin() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.sets
}

// Learn keeps what was read, unless something else was set since that began, and
// returns what is so.
func (c *Closings) Learn(owner memory.Owner, closed bool, now time.Time, began int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, known := c.known[owner]; known && l.set > began {
		return l.closed
	}
	c.keep(owner, look{closed: closed, at: now})
	return closed
}

func (c *Closings) keep(owner memory.Owner, l look) {
	if c.known == nil || len(c.known) >= MostLooked {
		c.known = map[memory.Owner]look{}
	}
	c.known[owner] = l
}

// Closing marks the writes that close, empty and open an owner.
type Closing struct{}

// MayWrite returns [memory.Gone] for an owner that is closed.
func (e *Core) MayWrite(ctx context.Context, owner memory.Owner) error {
	if ctx.Value(Closing{}) != nil || !owner.Valid() {
		return nil
	}
	closed, err := e.IsClosed(ctx, owner)
	if err == nil && closed {
		err = memory.Errorf(memory.Gone, "the memory of %s was erased and is closed; it can be opened again (loci users open NAME)", owner.Called())
	}
	return err
}

// IsClosed reports whether an owner was erased and not opened since. What another
// server closes is seen here after [looksHold] at the latest, and what it opens at once.
func (e *Core) IsClosed(ctx context.Context, owner memory.Owner) (bool, error) {
	if l, known := e.Closed.is(owner, e.Time()); known && (!l.closed || l.set > 0) {
		return l.closed, nil
	}
	began := e.Closed.Begin()
	_, err := e.ReadEntry(memory.ForWrite(ctx), owner, ClosedKey)
	if err != nil && !errors.Is(err, memory.NotFound) {
		return false, fmt.Errorf("ask whether the memory is closed: %w", err)
	}
	closed := e.Closed.Learn(owner, err == nil, e.Time(), began)
	if closed {
		e.Blocks.Forget(GivenTo(owner))
	}
	return closed, nil
}

// SeenClosed is isClosed for those who do not wait: as far as that was seen lately.
func (e *Core) SeenClosed(owner memory.Owner) bool {
	l, _ := e.Closed.is(owner, e.Time())
	return l.closed
}
