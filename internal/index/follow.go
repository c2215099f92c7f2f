package index

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// shardAtVersion returns the owner's shard at version minVersion or later, or nil if the store has no
// memories of the owner any more. If ctx ends, the load continues for the next search.
func (ix *Index) shardAtVersion(ctx context.Context, owner memory.Owner, minVersion int64) (*shard, error) {
	for {
		sh, l, started := ix.shardOrLoad(owner, minVersion)
		if sh != nil {
			return sh, nil
		}
		if sh, err := l.wait(ctx); err != nil || started {
			return sh, err
		}
	}
}

// shardOrLoad returns the owner's shard if it has version minVersion or later, and otherwise the
// load in progress. started reports whether this call started the load.
func (ix *Index) shardOrLoad(owner memory.Owner, minVersion int64) (sh *shard, l *pendingLoad, started bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	e := ix.touchEntry(owner)
	if e.shard != nil && e.shard.vectorSpace != ix.opts.vectorSpace() {
		ix.removeEntry(e)
		e = ix.touchEntry(owner)
	}
	if e.shard != nil && e.version >= minVersion {
		return e.shard, nil, false
	}
	if e.pending == nil {
		return nil, ix.startLoad(e), true
	}
	return nil, e.pending, false
}

// loadIfAbsent starts to load an owner that is neither loaded nor being loaded, and otherwise returns
// nil: a load in progress may lack the latest commits, so the caller must compare versions.
func (ix *Index) loadIfAbsent(owner memory.Owner) *pendingLoad {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	e := ix.touchEntry(owner)
	if e.shard != nil || e.pending != nil {
		return nil
	}
	return ix.startLoad(e)
}

// touchEntry returns the owner's entry, created if missing, as the most recently used entry.
func (ix *Index) touchEntry(owner memory.Owner) *ownerEntry {
	e := ix.entries[owner]
	if e == nil {
		e = &ownerEntry{owner: owner}
		e.element = ix.byRecentUse.PushFront(e)
		ix.entries[owner] = e
	}
	ix.byRecentUse.MoveToFront(e.element)
	return e
}

func (ix *Index) startLoad(e *ownerEntry) *pendingLoad {
	l, base := &pendingLoad{done: make(chan struct{})}, e.shard
	if ix.ctx.Err() != nil {
		l.err = memory.Errorf(memory.Unavailable, "the index is closed")
		close(l.done)
		return l
	}
	e.pending = l
	ix.background.Go(func() {
		if missing := ix.runLoad(e, l, base); missing > 0 {
			ix.opts.OnMissingVectors(e.owner, missing)
		}
	})
	return l
}

// runLoad updates base, or loads a new shard if base is nil, and completes l with the result. It returns the
// number of memories without a vector that OnMissingVectors must be told, or 0 for no call.
func (ix *Index) runLoad(e *ownerEntry, l *pendingLoad, base *shard) (withoutVector int) {
	sh, withoutVector, err := ix.followAndCheckVectors(e.owner, base)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	defer close(l.done)
	e.pending, l.err = nil, err
	if err != nil || base == nil && sh.version == 0 { // an owner without memories gets no entry
		if e.shard == nil && ix.entries[e.owner] == e {
			ix.removeEntry(e)
		}
		return 0
	}
	l.shard = sh
	e.shard, e.version = sh, sh.version // needs no lock of sh: only updates change it, one at a time
	if ix.entries[e.owner] != e {       // the owner was dropped during the load; waiting searches still get the shard
		return withoutVector
	}
	size := sh.size()
	ix.residentBytes += size - e.residentBytes
	e.residentBytes, e.memoryCount = size, len(sh.docByID)
	ix.evict(e)
	if !e.saving && ix.isWorthSaving(sh, saveDivisorRunning) {
		e.saving = true
		ix.background.Go(func() { ix.saveInBackground(e, sh) })
	}
	return withoutVector
}

// followAndCheckVectors updates base like followStore, and decides whether the shard's vectors are
// searched. Once a shard's vectors are searched they always are, since new memories soon get vectors.
func (ix *Index) followAndCheckVectors(owner memory.Owner, base *shard) (sh *shard, withoutVector int, err error) {
	previous := 0
	if base != nil {
		previous = base.vectorlessCount // needs no lock of base: only updates change it, one at a time
	}
	if sh, err = ix.followStore(owner, base); err != nil || ix.opts.OnMissingVectors == nil {
		return sh, 0, err
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh != base || sh.ignoresVectors {
		sh.ignoresVectors = sh.vectorlessCount > len(sh.docByID)/vectorlessDivisor
	}
	if sh == base && sh.vectorlessCount <= previous {
		return sh, 0, nil
	}
	return sh, sh.vectorlessCount, nil
}

// vectorlessDivisor is 100, because vectors are searched only if at most 1/100 of the memories have no
// vector.
const vectorlessDivisor = 100

// followStore updates base to the store's version. It returns a new shard if base is nil or the store
// has erased the history of base's version.
func (ix *Index) followStore(owner memory.Owner, base *shard) (*shard, error) {
	if base != nil {
		err := ix.applyChanges(base, owner)
		if !errors.Is(err, memory.Gone) {
			return base, err
		}
	} else if sh := ix.shardFromCheckpoint(owner); sh != nil {
		return sh, nil
	}
	fresh, batch := newShard(), batch{}
	fresh.vectorSpace = ix.opts.vectorSpace()
	fresh.dims = fresh.vectorSpace.dims
	fresh.offloaded = ix.isOffloaded(owner)
	version, err := ix.readAll(owner, fresh.vectorSpace.model, func(item memory.IndexItem, vector []uint16) error {
		if batch.mustFlushBefore(item) {
			batch.flush(&fresh.contents)
		}
		batch = append(batch, itemChange{item, vector})
		return nil
	})
	if err != nil {
		return nil, err
	}
	flushed := len(fresh.docs) > 0 // true if an earlier flush has filled posting lists
	batch.flush(&fresh.contents)
	if flushed {
		fresh.packPostings()
	}
	if len(fresh.docByRow) == 0 {
		fresh.dims = 0
	}
	fresh.version = version
	return fresh, nil
}

// compactSource is a [memory.IndexSource] with an efficient full read. Its method Everything is like Since
// from version 0, but passes vectors separately as float16 ([vector.Pack]), and sets only the fields of
// memories that an index needs.
type compactSource interface {
	Everything(ctx context.Context, owner memory.Owner, model string, yield func(item memory.IndexItem, vector []uint16) error) (version int64, err error)
}

// readAll yields all recallable memories of an owner. The vector is in the item or the second argument.
func (ix *Index) readAll(owner memory.Owner, model string, yield func(memory.IndexItem, []uint16) error) (version int64, err error) {
	if src, ok := ix.src.(compactSource); ok {
		return src.Everything(ix.ctx, owner, model, yield)
	}
	return ix.src.Since(ix.ctx, owner, model, 0, func(item memory.IndexItem) error { return yield(item, nil) })
}

// applyChanges applies the store's changes since sh.version to sh. After an error it has applied none.
func (ix *Index) applyChanges(sh *shard, owner memory.Owner) error {
	var items batch
	version, err := ix.src.Since(ix.ctx, owner, sh.vectorSpace.model, sh.version, func(item memory.IndexItem) error {
		items = append(items, itemChange{IndexItem: item})
		return nil
	})
	if err != nil {
		return err
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	items.flush(&sh.contents)
	sh.version = version
	return nil
}

// batch is a list of changes that are not applied yet.
type batch []itemChange

// itemChange is a written or removed item. packedVector replaces IndexItem.Vector if it is not empty.
type itemChange struct {
	memory.IndexItem
	packedVector []uint16
}

// maxBatch is the number of changes at which a batch is applied. To sort all memories of one version
// together, a batch may grow to twice maxBatch.
const maxBatch = 2048

// mustFlushBefore reports whether the batch must be applied before item is added.
func (b batch) mustFlushBefore(item memory.IndexItem) bool {
	return len(b) >= maxBatch && (b[len(b)-1].Version != item.Version || len(b) == 2*maxBatch)
}

// flush applies the batch, which contains each id once, and empties it. Turns of one version are added
// in the order of their conversations, because a search is fastest if neighbours have adjacent numbers.
func (b *batch) flush(s *contents) {
	order := make([]int32, len(*b)) // sorting indexes avoids moving large structs
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int { return cmp.Or((*b)[i].compareOrder(&(*b)[j]), cmp.Compare(i, j)) })
	s.reserve(*b)
	if len(*b) >= len(s.docs) {
		s.bufferPostings()
	}
	for _, i := range order {
		s.applyItemChange(&(*b)[i])
	}
	s.flushPostings()
	if len(s.docByRow) == 0 { // no vector was added
		s.chunks = nil
	}
	clear(*b)
	*b = (*b)[:0]
}

// typicalWords is the initial size of an owner's map of words.
const typicalWords = 600

// reserve allocates memory for a batch, so that most owners are loaded without reallocation.
func (s *contents) reserve(b batch) {
	n := len(b)
	s.docs, s.kinds, s.links, s.reaches = slices.Grow(s.docs, n), slices.Grow(s.kinds, n), slices.Grow(s.links, n), slices.Grow(s.reaches, n)
	s.ownLengths, s.blendedLengths, s.docByRow = slices.Grow(s.ownLengths, n), slices.Grow(s.blendedLengths, n), slices.Grow(s.docByRow, n)
	if len(s.docs) > 0 {
		return
	}
	terms := min(6*n, typicalWords)
	s.docByID, s.terms, s.postings = make(map[idKey]int32, n), make(map[string]int32, terms), make([][]uint32, 0, terms)
	words, dims, rows := 0, 0, 0
	for i := range b {
		if half := b[i].packedVector; half != nil && rows < chunkRows {
			words, dims, rows = words+len(half), vector.Dims(half), rows+1
		}
	}
	if rows > 0 {
		c := chunk{packedRows: make([]uint16, 0, words), rowEnds: make([]uint32, 0, rows)}
		c.int8Rows.Grow(rows, dims)
		s.chunks = append(s.chunks, c)
	}
}

// compareOrder compares changes by version; within a version, turns are last and in conversation order.
func (a *itemChange) compareOrder(b *itemChange) int {
	t, u := a.Memory.Turn, b.Memory.Turn
	if a.Version != b.Version || t == nil || u == nil {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(turnSortKey(a.IndexItem), turnSortKey(b.IndexItem)))
	}
	return cmp.Or(cmp.Compare(t.Conversation, u.Conversation), cmp.Compare(t.Index, u.Index))
}

// turnSortKey returns a sort key that puts turns after all other items of a version.
func turnSortKey(item memory.IndexItem) int {
	if item.Memory.Turn != nil {
		return 1
	}
	return 0
}

// evict drops the least recently used owners except keep until the index fits its budget.
func (ix *Index) evict(keep *ownerEntry) {
	for at := ix.byRecentUse.Back(); at != nil && ix.residentBytes > ix.opts.Budget; {
		e := at.Value.(*ownerEntry)
		at = at.Prev()
		if e == keep || e.pending != nil {
			continue
		}
		ix.removeEntry(e)
	}
}

func (ix *Index) removeEntry(e *ownerEntry) {
	ix.byRecentUse.Remove(e.element)
	delete(ix.entries, e.owner)
	ix.residentBytes -= e.residentBytes
}

// addPackedVector stores a float16 vector of [vector.Pack] and returns its row. It skips an empty
// vector and a vector whose length differs from the first.
func (s *contents) addPackedVector(n int32, packed []uint16) int32 {
	size, values, ok := vector.RowSize(packed, len(packed))
	if !ok || size != len(packed) || values == 0 || s.dims != 0 && values != s.dims {
		return none
	}
	s.dims = values
	return s.appendPacked(n, packed)
}
