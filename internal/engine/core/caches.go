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

// blocksKept bounds the cache: 2048 blocks of 6 kB take 12 MB.
const blocksKept = 2048

// PinnedBlock is the block added to the prompt of one user turn.
type PinnedBlock struct {
	Owner memory.Owner
	Chain string // chain hash of the user turn
	Text  string
	Hits  []memory.Hit
	Core  recall.Core
	Trace string
}

// BlockCache stores the block added for each user turn. All steps of a tool loop get the same
// bytes, and learning recognizes text copied from a block. Forgotten and hidden memories stay in
// the cache until the loop ends; erased memories are removed.
type BlockCache struct {
	kept      *recent.Map[[2]string, PinnedBlock] // by owner and chain
	forgotten atomic.Uint64                       // number of calls of Forget

	Passed Passed     // text that Loci passed on
	Ready  ReadyFacts // facts for prompts without a search
}

// NewBlockCache returns an empty cache.
func NewBlockCache() *BlockCache {
	return &BlockCache{kept: recent.New[[2]string, PinnedBlock](blocksKept), Ready: newReadyFacts()}
}

// Get returns the block for the user message whose chain hash is chain.
func (c *BlockCache) Get(owner memory.Owner, chain string) (PinnedBlock, bool) {
	return c.kept.Get([2]string{string(owner), chain})
}

// Now returns the epoch for [BlockCache.Put]. Call it before the block is recalled.
func (c *BlockCache) Now() uint64 { return c.forgotten.Load() }

// Put caches a block, unless Forget was called since then: the block may contain erased text.
func (c *BlockCache) Put(b PinnedBlock, since uint64) {
	c.kept.Update([2]string{string(b.Owner), b.Chain}, func(PinnedBlock, bool) (PinnedBlock, bool) {
		return b, since == c.forgotten.Load()
	})
}

// Forget removes the blocks that match. The next step of their tool loop recalls again.
func (c *BlockCache) Forget(gone func(PinnedBlock) bool) {
	c.forgotten.Add(1) // first: a later Put is then refused, and an earlier block is removed below
	c.kept.DeleteFunc(func(_ [2]string, b PinnedBlock) bool { return gone(b) })
}

// BlocksFor returns a filter for the blocks of an owner's requests.
func BlocksFor(owner memory.Owner) func(PinnedBlock) bool {
	return func(b PinnedBlock) bool { return b.Owner == owner }
}

// HasHit reports whether one of the block's memories matches.
func (b PinnedBlock) HasHit(is func(memory.Memory) bool) bool {
	return slices.ContainsFunc(b.Hits, func(h memory.Hit) bool { return is(h.Memory) })
}

// stripes bounds how many conversations can be written concurrently. Two conversations with the
// same stripe rarely block each other.
const stripes = 256

// KeyedMutex admits one writer at a time to a conversation, so that the end of its current branch
// does not change before the next turn is added. The store detects writers of other servers: see
// [memory.Path].
type KeyedMutex struct {
	seed maphash.Seed
	gate [stripes]*semaphore.Weighted
}

// exclusiveWeight is the weight of an exclusive holder; a shared holder weighs 1.
const exclusiveWeight = 1 << 30

// NewKeyedMutex returns an unlocked mutex.
func NewKeyedMutex() *KeyedMutex {
	t := &KeyedMutex{seed: maphash.MakeSeed()}
	for i := range t.gate {
		t.gate[i] = semaphore.NewWeighted(exclusiveWeight)
	}
	return t
}

// Enter locks a conversation exclusively. The caller must call leave.
func (t *KeyedMutex) Enter(ctx context.Context, owner memory.Owner, conversation string) (leave func(), err error) {
	return t.acquire(ctx, owner, conversation, exclusiveWeight)
}

// Share locks a conversation shared with other callers of Share. The caller must call leave.
func (t *KeyedMutex) Share(ctx context.Context, owner memory.Owner, conversation string) (leave func(), err error) {
	return t.acquire(ctx, owner, conversation, 1)
}

func (t *KeyedMutex) acquire(ctx context.Context, owner memory.Owner, conversation string, n int64) (leave func(), err error) {
	gate := t.gate[maphash.String(t.seed, string(owner)+"\x00"+conversation)%stripes]
	if err := gate.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { gate.Release(n) }, nil
}
