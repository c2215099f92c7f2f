package lessons

import "sync"

// broadcast wakes whoever waits for something to happen. The zero value is ready.
type broadcast struct {
	mu   sync.Mutex // guards next
	next chan struct{}
}

// Next returns a channel that is closed when it happens next.
func (b *broadcast) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// Ring wakes all who wait.
func (b *broadcast) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}
