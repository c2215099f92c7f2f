package engine

import "sync"

// bell wakes whoever waits for something to have happened. The zero bell is ready.
type bell struct {
	mu    sync.Mutex // guards rings
	rings chan struct{}
}

// next returns a channel that is closed when the bell rings next.
func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rings == nil {
		b.rings = make(chan struct{})
	}
	return b.rings
}

// ring wakes all who wait.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rings != nil {
		close(b.rings)
		b.rings = nil
	}
}
