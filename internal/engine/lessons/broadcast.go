package lessons

import "sync"

// broadcast wakes all waiting goroutines. The zero value is ready to use.
type broadcast struct {
	mu   sync.Mutex    // guards next
	next chan struct{} // closed by the next call of Ring; nil: nobody waits
}

// Next returns a channel that the next call of Ring closes.
func (b *broadcast) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// Ring wakes all waiting goroutines.
func (b *broadcast) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}
