package core

import (
	"context"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// blocksKept bounds the cache: at some 6 kB a block, 12 MB.
const blocksKept = 2048

// PinnedBlock is what one user turn was given.
type PinnedBlock struct {
	Owner memory.Owner
	Chain string // of the user turn
	Text  string
	Hits  []memory.Hit
	Core  recall.Core
	Trace string
}

// BlockCache remembers the block each user turn was given, so that every step of
// a tool loop carries the same bytes even if memory has changed, and so that what
// was injected is known again when it comes back. What is forgotten or hidden meanwhile
// stays in it until the loop ends; what is erased does not.
type BlockCache struct {
	kept      *recent.Map[[2]string, PinnedBlock] // by owner and chain
	forgotten atomic.Uint64                       // how often something was

	Passed Passed     // what was carried besides
	Ready  ReadyFacts // what a prompt is told without a search
}

// NewBlockCache returns an empty cache.
func NewBlockCache() *BlockCache {
	return &BlockCache{kept: recent.New[[2]string, PinnedBlock](blocksKept), Ready: newReadyFacts()}
}

// Get returns the block that the user message at the end of a chain got.
func (c *BlockCache) Get(owner memory.Owner, chain string) (PinnedBlock, bool) {
	return c.kept.Get([2]string{string(owner), chain})
}

// Now returns the epoch to pass to [BlockCache.Put]. Call it before the block is recalled.
func (c *BlockCache) Now() uint64 { return c.forgotten.Load() }

// Put keeps a block, unless something was erased since it was begun: it may be in it.
func (c *BlockCache) Put(b PinnedBlock, since uint64) {
	c.kept.Update([2]string{string(b.Owner), b.Chain}, func(PinnedBlock, bool) (PinnedBlock, bool) {
		return b, since == c.forgotten.Load()
	})
}

// Forget removes the blocks that match: the next step of their loop recalls anew.
func (c *BlockCache) Forget(gone func(PinnedBlock) bool) {
	c.forgotten.Add(1) // first, so that what is put later is refused or removed below
	c.kept.DeleteFunc(func(_ [2]string, b PinnedBlock) bool { return gone(b) })
}

// GivenTo matches the blocks that an owner was given.
func GivenTo(owner memory.Owner) func(PinnedBlock) bool {
	return func(b PinnedBlock) bool { return b.Owner == owner }
}

// HasHit reports whether one of a block's memories is such.
func (b PinnedBlock) HasHit(is func(memory.Memory) bool) bool {
	return slices.ContainsFunc(b.Hits, func(h memory.Hit) bool { return is(h.Memory) })
}

// stripes is how many conversations can be written at a time at most; two that
// share one wait for each other needlessly, and rarely.
const stripes = 256

// KeyedMutex lets one writer at a time into a conversation, so that where its path
// ends is still true when the next turn is put there. Writers of other servers are
// found by the store: see [memory.Path].
type KeyedMutex struct {
	seed maphash.Seed
	gate [stripes]*semaphore.Weighted
}

// alone is how many who share a place one who is alone takes it from.
const alone = 1 << 30

// NewKeyedMutex returns a mutex that nobody holds.
func NewKeyedMutex() *KeyedMutex {
	t := &KeyedMutex{seed: maphash.MakeSeed()}
	for i := range t.gate {
		t.gate[i] = semaphore.NewWeighted(alone)
	}
	return t
}

// Enter waits until the conversation is free; leave must be called.
func (t *KeyedMutex) Enter(ctx context.Context, owner memory.Owner, conversation string) (leave func(), err error) {
	return t.take(ctx, owner, conversation, alone)
}

// Share waits until nobody is in who entered; others may share at the same time. leave must be called.
func (t *KeyedMutex) Share(ctx context.Context, owner memory.Owner, conversation string) (leave func(), err error) {
	return t.take(ctx, owner, conversation, 1)
}

func (t *KeyedMutex) take(ctx context.Context, owner memory.Owner, conversation string, n int64) (leave func(), err error) {
	gate := t.gate[maphash.String(t.seed, string(owner)+"\x00"+conversation)%stripes]
	if err := gate.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { gate.Release(n) }, nil
}
