package lessons

import "sync"

// broadcast wakes all waiters. The zero value is ready.
type broadcast struct {
	mu   sync.Mutex // guards next
	next chan struct{}
}

// Next returns a channel that the next Ring closes.
func (b *broadcast) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// Ring wakes all waiters.
func (b *broadcast) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}
