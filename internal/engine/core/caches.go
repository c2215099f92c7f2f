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
const maxCachedBlocks = 2048

// CachedBlock is the block that was added to the prompt for one user turn.
type CachedBlock struct {
	Owner     memory.Owner
	ChainHash string // hash of the user turn's text and of all earlier turns
	Text      string
	Hits      []memory.Hit
	Core      recall.Core
	TraceID   string
}

// BlockCache stores the block added for each user turn, so that all requests of a tool loop get the same
// bytes and learning recognizes text copied from a block. Forgotten and hidden memories stay in the cache
// until the tool loop ends; erased memories are removed.
type BlockCache struct {
	blocks      *recent.Map[[2]string, CachedBlock] // by owner and chain hash
	forgetCount atomic.Uint64                       // number of calls of Forget

	Relayed  RelayedText // recognizes text that recently passed through Loci
	TopFacts TopFacts    // the most important facts of each owner
}

// NewBlockCache returns an empty cache.
func NewBlockCache() *BlockCache {
	return &BlockCache{blocks: recent.New[[2]string, CachedBlock](maxCachedBlocks), TopFacts: newTopFacts()}
}

// Get returns the block for the user message with this chain hash.
func (c *BlockCache) Get(owner memory.Owner, chainHash string) (CachedBlock, bool) {
	return c.blocks.Get([2]string{string(owner), chainHash})
}

// Epoch returns the value to pass to [BlockCache.Put]. Call it before the block is recalled.
func (c *BlockCache) Epoch() uint64 { return c.forgetCount.Load() }

// Put caches a block, unless Forget was called after epoch: the block may contain erased text.
func (c *BlockCache) Put(b CachedBlock, epoch uint64) {
	c.blocks.Update([2]string{string(b.Owner), b.ChainHash}, func(CachedBlock, bool) (CachedBlock, bool) {
		return b, epoch == c.forgetCount.Load()
	})
}

// Forget removes the matching blocks. The next request of a tool loop whose block was removed recalls again.
func (c *BlockCache) Forget(match func(CachedBlock) bool) {
	c.forgetCount.Add(1) // first, so that a concurrent Put is refused
	c.blocks.DeleteFunc(func(_ [2]string, b CachedBlock) bool { return match(b) })
}

// BlockOwnedBy returns a filter for the blocks of an owner's requests.
func BlockOwnedBy(owner memory.Owner) func(CachedBlock) bool {
	return func(b CachedBlock) bool { return b.Owner == owner }
}

// HasHit reports whether one of the block's memories matches.
func (b CachedBlock) HasHit(match func(memory.Memory) bool) bool {
	return slices.ContainsFunc(b.Hits, func(h memory.Hit) bool { return match(h.Memory) })
}

// mutexStripes is the number of locks. Two conversations with the same lock block each other, which is rare.
const mutexStripes = 256

// KeyedMutex locks conversations, so that the end of the current branch does not change before the next turn
// is added. It does not lock out other servers; the store detects their writes by [memory.Path].
type KeyedMutex struct {
	seed  maphash.Seed
	locks [mutexStripes]*semaphore.Weighted
}

// exclusiveWeight is the semaphore weight of an exclusive holder; a shared holder has the weight 1.
const exclusiveWeight = 1 << 30

// NewKeyedMutex returns an unlocked mutex.
func NewKeyedMutex() *KeyedMutex {
	t := &KeyedMutex{seed: maphash.MakeSeed()}
	for i := range t.locks {
		t.locks[i] = semaphore.NewWeighted(exclusiveWeight)
	}
	return t
}

// Lock locks a conversation exclusively. The caller must call unlock.
func (t *KeyedMutex) Lock(ctx context.Context, owner memory.Owner, conversation string) (unlock func(), err error) {
	return t.acquire(ctx, owner, conversation, exclusiveWeight)
}

// LockShared locks a conversation against Lock, but not against LockShared. The caller must call unlock.
func (t *KeyedMutex) LockShared(ctx context.Context, owner memory.Owner, conversation string) (unlock func(), err error) {
	return t.acquire(ctx, owner, conversation, 1)
}

func (t *KeyedMutex) acquire(ctx context.Context, owner memory.Owner, conversation string, weight int64) (unlock func(), err error) {
	lock := t.locks[maphash.String(t.seed, string(owner)+"\x00"+conversation)%mutexStripes]
	if err := lock.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	return func() { lock.Release(weight) }, nil
}
