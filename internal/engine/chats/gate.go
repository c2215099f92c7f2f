package chats

import (
	"context"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// replyLocks admits one reply at a time to a chat in this process, and ends the reply when the chat is
// deleted. The zero value is ready to use.
type talks struct {
	mu   sync.Mutex // guards the following fields
	Open map[string]*talk
}

// replySlot is the lock of a chat with a reply in progress or waiting.
type talk struct {
	slot   chan struct{}           // has capacity 1 and is full while locked
	users  int                     // number of holders and waiters
	stop   context.CancelCauseFunc // ends the reply in progress; nil: none
	ending error                   // why new replies are refused; nil: replies are admitted
}

// acquire waits until the chat has no other reply. endReplies cancels the context. Call unlock.
func (t *talks) enter(ctx context.Context, owner memory.Owner, chat string) (_ context.Context, leave func(), err error) {
	key := string(owner) + "\x00" + chat
	g := t.join(key)
	select {
	case g.slot <- struct{}{}:
	case <-ctx.Done():
		t.release(key, g)
		return nil, nil, context.Cause(ctx)
	}
	ctx, stop := context.WithCancelCause(ctx)
	t.mu.Lock()
	ending := g.ending
	if ending == nil {
		g.stop = stop
	}
	t.mu.Unlock()
	leave = func() {
		stop(nil)
		t.mu.Lock()
		g.stop = nil
		t.mu.Unlock()
		<-g.slot
		t.release(key, g)
	}
	if ending != nil {
		leave()
		return nil, nil, ending
	}
	return ctx, leave, nil
}

// endReplies ends the current and waiting replies with a cause, waits for them, and refuses new replies
// until unlock is called.
func (t *talks) clear(ctx context.Context, owner memory.Owner, chat string, why error) (leave func(), err error) {
	key := string(owner) + "\x00" + chat
	g := t.join(key)
	t.mu.Lock()
	g.ending = why
	if g.stop != nil {
		g.stop(why)
	}
	t.mu.Unlock()
	reopen := func() {
		t.mu.Lock()
		g.ending = nil
		t.mu.Unlock()
	}
	select {
	case g.slot <- struct{}{}:
		return func() { reopen(); <-g.slot; t.release(key, g) }, nil
	case <-ctx.Done():
		reopen()
		t.release(key, g)
		return nil, context.Cause(ctx)
	}
}

func (t *talks) join(key string) *talk {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Open == nil {
		t.Open = map[string]*talk{}
	}
	g := t.Open[key]
	if g == nil {
		g = &talk{slot: make(chan struct{}, 1)}
		t.Open[key] = g
	}
	g.users++
	return g
}

func (t *talks) release(key string, g *talk) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g.users--; g.users == 0 {
		delete(t.Open, key)
	}
}
