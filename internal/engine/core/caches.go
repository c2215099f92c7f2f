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

// maxCachedBlocks bounds the cache: 2048 blocks of about 6 kB take 12 MB.
const blocksKept = 2048

// CachedBlock is the block that was added to the prompt for one user turn.
type PinnedBlock struct {
	Owner memory.Owner
	Chain string // chain hash of the user turn: of its text and all earlier turns
	Text  string
	Hits  []memory.Hit
	Core  recall.Core
	Trace string
}

// BlockCache stores the block added for each user turn. All requests of a tool loop get the same
// bytes, and learning recognizes text copied from a block. Forgotten and hidden memories stay in
// the cache until the loop ends; erased memories are removed.
type BlockCache struct {
	kept      *recent.Map[[2]string, PinnedBlock] // by owner and chain hash
	forgotten atomic.Uint64                       // number of calls of Forget

	Passed Passed     // recognizes text that recently passed through Loci
	Ready  ReadyFacts // the most important facts of each owner
}

// NewBlockCache returns an empty cache.
func NewBlockCache() *BlockCache {
	return &BlockCache{kept: recent.New[[2]string, PinnedBlock](blocksKept), Ready: newReadyFacts()}
}

// Get returns the block for the user message with this chain hash.
func (c *BlockCache) Get(owner memory.Owner, chain string) (PinnedBlock, bool) {
	return c.kept.Get([2]string{string(owner), chain})
}

// Epoch returns the value to pass to [BlockCache.Put]. Call it before the block is recalled.
func (c *BlockCache) Now() uint64 { return c.forgotten.Load() }

// Put caches a block, unless Forget was called after epoch: the block may contain erased text.
func (c *BlockCache) Put(b PinnedBlock, since uint64) {
	c.kept.Update([2]string{string(b.Owner), b.Chain}, func(PinnedBlock, bool) (PinnedBlock, bool) {
		return b, since == c.forgotten.Load()
	})
}

// Forget removes the matching blocks. The next request of a tool loop then recalls again.
func (c *BlockCache) Forget(gone func(PinnedBlock) bool) {
	c.forgotten.Add(1) // first, so that a concurrent Put is refused
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

// mutexStripes bounds the conversations that can be written concurrently. Conversations with the same
// stripe block each other, which is rare.
const stripes = 256

// KeyedMutex locks conversations, so that the end of the current branch does not change before the
// next turn is added. Writers of other servers are not locked out: the store detects their writes by
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

// Lock locks a conversation exclusively. The caller must call unlock.
func (t *KeyedMutex) Enter(ctx context.Context, owner memory.Owner, conversation string) (leave func(), err error) {
	return t.acquire(ctx, owner, conversation, exclusiveWeight)
}

// LockShared locks a conversation for callers of LockShared. The caller must call unlock.
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
