package core

import (
	"context"
	"errors"
	"sync"
)

// ErrChat is why a model that learns on this machine stops: it takes the processors of a chat.
var ErrChat = errors.New("a chat is under way")

// ChatGate knows the chats that the upstream answers now. The zero gate is ready.
type ChatGate struct {
	mu     sync.Mutex // guards what follows
	open   int
	yields map[*context.CancelCauseFunc]bool // what ends when a chat begins
}

// Begin says that the upstream answers a chat until end is called, which may be twice.
func (c *ChatGate) Begin() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	for cancel := range c.yields {
		(*cancel)(ErrChat)
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open--
	})
}

// Between returns a context that ends with [ErrChat] as cause once a chat is under way. Call stop when
// it is not needed any more.
func (c *ChatGate) Between(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open > 0 {
		cancel(ErrChat)
	}
	if c.yields == nil {
		c.yields = map[*context.CancelCauseFunc]bool{}
	}
	c.yields[&cancel] = true
	return ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.yields, &cancel)
		cancel(nil)
	}
}
