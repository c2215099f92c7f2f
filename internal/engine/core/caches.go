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

// blocksKept bounds the cache: at 6 kB a block, 12 MB.
const blocksKept = 2048

// PinnedBlock is the block injected for one user turn.
type PinnedBlock struct {
	Owner memory.Owner
	Chain string // of the user turn
	Text  string
	Hits  []memory.Hit
	Core  recall.Core
	Trace string
}

// BlockCache remembers the block injected for each user turn: every step of a tool loop gets the
// same bytes, and learning recognizes injected text. Forgotten and hidden memories stay in it until
// the loop ends; erased ones do not.
type BlockCache struct {
	kept      *recent.Map[[2]string, PinnedBlock] // by owner and chain
	forgotten atomic.Uint64                       // counts calls of Forget

	Passed Passed     // text that Loci passed on
	Ready  ReadyFacts // facts that prompts get without a search
}

// NewBlockCache returns an empty cache.
func NewBlockCache() *BlockCache {
	return &BlockCache{kept: recent.New[[2]string, PinnedBlock](blocksKept), Ready: newReadyFacts()}
}

// Get returns the block for the user message at the end of a chain.
func (c *BlockCache) Get(owner memory.Owner, chain string) (PinnedBlock, bool) {
	return c.kept.Get([2]string{string(owner), chain})
}

// Now returns the epoch to pass to [BlockCache.Put]. Call it before the block is recalled.
func (c *BlockCache) Now() uint64 { return c.forgotten.Load() }

// Put caches a block, unless something was erased since then: the block may contain it.
func (c *BlockCache) Put(b PinnedBlock, since uint64) {
	c.kept.Update([2]string{string(b.Owner), b.Chain}, func(PinnedBlock, bool) (PinnedBlock, bool) {
		return b, since == c.forgotten.Load()
	})
}

// Forget removes the blocks that match; the next step of their loop recalls again.
func (c *BlockCache) Forget(gone func(PinnedBlock) bool) {
	c.forgotten.Add(1) // first: a later Put is refused, an earlier one is removed below
	c.kept.DeleteFunc(func(_ [2]string, b PinnedBlock) bool { return gone(b) })
}

// GivenTo matches the blocks of an owner's requests.
func GivenTo(owner memory.Owner) func(PinnedBlock) bool {
	return func(b PinnedBlock) bool { return b.Owner == owner }
}

// HasHit reports whether one of the block's memories matches.
func (b PinnedBlock) HasHit(is func(memory.Memory) bool) bool {
	return slices.ContainsFunc(b.Hits, func(h memory.Hit) bool { return is(h.Memory) })
}

// stripes bounds the conversations that can be written at a time. Two on one stripe rarely block
// each other.
const stripes = 256

// KeyedMutex admits one writer at a time to a conversation, so that the end of its path stays the
// same until the next turn is added. The store detects writers of other servers: see [memory.Path].
type KeyedMutex struct {
	seed maphash.Seed
	gate [stripes]*semaphore.Weighted
}

// alone is the weight of an exclusive holder; a shared one weighs 1.
const alone = 1 << 30

// NewKeyedMutex returns an unlocked mutex.
func NewKeyedMutex() *KeyedMutex {
	t := &KeyedMutex{seed: maphash.MakeSeed()}
	for i := range t.gate {
		t.gate[i] = semaphore.NewWeighted(alone)
	}
	return t
}

// Enter locks a conversation exclusively; leave must be called.
func (t *KeyedMutex) Enter(ctx context.Context, owner memory.Owner, conversation string) (leave func(), err error) {
	return t.take(ctx, owner, conversation, alone)
}

// Share locks a conversation together with other sharers; leave must be called.
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
