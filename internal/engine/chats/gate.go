package chats

import (
	"context"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// replyLocks admits one reply at a time to a chat in this process, and ends the reply when the chat is
// deleted. The zero value is ready to use.
type replyLocks struct {
	mu          sync.Mutex // guards the following fields
	SlotsByChat map[string]*replySlot
}

// replySlot is the lock of a chat with a reply in progress or waiting.
type replySlot struct {
	sem      chan struct{}           // has capacity 1 and is full while locked
	refCount int                     // number of holders and waiters
	cancel   context.CancelCauseFunc // ends the reply in progress; nil: none
	refusal  error                   // why new replies are refused; nil: replies are admitted
}

// acquire waits until the chat has no other reply. endReplies cancels the returned context.
func (t *replyLocks) acquire(ctx context.Context, owner memory.Owner, chat string) (_ context.Context, unlock func(), err error) {
	key := string(owner) + "\x00" + chat
	slot := t.retainSlot(key)
	select {
	case slot.sem <- struct{}{}:
	case <-ctx.Done():
		t.releaseSlot(key, slot)
		return nil, nil, context.Cause(ctx)
	}
	ctx, stop := context.WithCancelCause(ctx)
	t.mu.Lock()
	refusal := slot.refusal
	if refusal == nil {
		slot.cancel = stop
	}
	t.mu.Unlock()
	unlock = func() {
		stop(nil)
		t.mu.Lock()
		slot.cancel = nil
		t.mu.Unlock()
		<-slot.sem
		t.releaseSlot(key, slot)
	}
	if refusal != nil {
		unlock()
		return nil, nil, refusal
	}
	return ctx, unlock, nil
}

// endReplies ends the current and waiting replies with a cause, waits for them, and refuses new replies
// until unlock is called.
func (t *replyLocks) endReplies(ctx context.Context, owner memory.Owner, chat string, cause error) (unlock func(), err error) {
	key := string(owner) + "\x00" + chat
	slot := t.retainSlot(key)
	t.mu.Lock()
	slot.refusal = cause
	if slot.cancel != nil {
		slot.cancel(cause)
	}
	t.mu.Unlock()
	reopen := func() {
		t.mu.Lock()
		slot.refusal = nil
		t.mu.Unlock()
	}
	select {
	case slot.sem <- struct{}{}:
		return func() { reopen(); <-slot.sem; t.releaseSlot(key, slot) }, nil
	case <-ctx.Done():
		reopen()
		t.releaseSlot(key, slot)
		return nil, context.Cause(ctx)
	}
}

func (t *replyLocks) retainSlot(key string) *replySlot {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.SlotsByChat == nil {
		t.SlotsByChat = map[string]*replySlot{}
	}
	slot := t.SlotsByChat[key]
	if slot == nil {
		slot = &replySlot{sem: make(chan struct{}, 1)}
		t.SlotsByChat[key] = slot
	}
	slot.refCount++
	return slot
}

func (t *replyLocks) releaseSlot(key string, slot *replySlot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot.refCount--; slot.refCount == 0 {
		delete(t.SlotsByChat, key)
	}
}
