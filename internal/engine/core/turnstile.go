package core

import (
	"context"
	"hash/maphash"

	"github.com/loci-memory/loci/memory"
)

// stripes is how many conversations can be written at a time at most; two that
// share one wait for each other needlessly, and rarely.
const stripes = 256

// turnstile lets one writer at a time into a conversation, so that where its path
// ends is still true when the next turn is put there. Writers of other servers are
// found by the store: see [memory.Path].
type turnstile struct {
	seed maphash.Seed
	gate [stripes]chan struct{}
}

func NewTurnstile() *turnstile {
	t := &turnstile{seed: maphash.MakeSeed()}
	for i := range t.gate {
		t.gate[i] = make(chan struct{}, 1)
	}
	return t
}

// Enter waits until the conversation is free; leave must be called.
func (t *turnstile) Enter(ctx context.Context, owner memory.Owner, conversation string) (leave func(), err error) {
	gate := t.gate[maphash.String(t.seed, string(owner)+"\x00"+conversation)%stripes]
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
