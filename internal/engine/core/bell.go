package core

import (
	"sync"
)

// Bell wakes whoever waits for something to have happened. The zero bell is ready.
type Bell struct {
	mu    sync.Mutex // guards rings
	rings chan struct{}
}

// Next returns a channel that is closed when the bell rings next.
func (b *Bell) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rings == nil {
		b.rings = make(chan struct{})
	}
	return b.rings
}

// Ring wakes all who wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rings != nil {
		close(b.rings)
		b.rings = nil
	}
}
