package index

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// shardAtVersion returns the owner's shard at version minVersion or later, or nil if all of its
// memories were erased meanwhile. If ctx ends, the load continues for the next search.
func (ix *Index) upTo(ctx context.Context, owner memory.Owner, want int64) (*shard, error) {
	for {
		sh, l, begun := ix.shardOrLoad(owner, want)
		if sh != nil {
			return sh, nil
		}
		if sh, err := l.wait(ctx); err != nil || begun {
			return sh, err
		}
	}
}

// shardOrLoad returns the owner's shard if it has version minVersion or later, and otherwise the
// load in progress. started reports whether this call started the load.
func (ix *Index) shardOrLoad(owner memory.Owner, want int64) (sh *shard, l *load, begun bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	e := ix.entry(owner)
	if e.shard != nil && e.shard.space != ix.opts.space() {
		ix.forget(e)
		e = ix.entry(owner)
	}
	if e.shard != nil && e.version >= want {
		return e.shard, nil, false
	}
	if e.load == nil {
		return nil, ix.load(e), true
	}
	return nil, e.load, false
}

// loadIfAbsent starts to load an owner that is not loaded. It returns nil for a loaded owner and
// for an owner being loaded, since that load may miss the latest commits.
func (ix *Index) begin(owner memory.Owner) *load {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	e := ix.entry(owner)
	if e.shard != nil || e.load != nil {
		return nil
	}
	return ix.load(e)
}

// entry returns the owner's entry, created if missing, and makes it the most recently used entry.
func (ix *Index) entry(owner memory.Owner) *entry {
	e := ix.entries[owner]
	if e == nil {
		e = &entry{owner: owner}
		e.place = ix.recent.PushFront(e)
		ix.entries[owner] = e
	}
	ix.recent.MoveToFront(e.place)
	return e
}

func (ix *Index) load(e *entry) *load {
	l, base := &load{done: make(chan struct{})}, e.shard
	if ix.ctx.Err() != nil {
		l.err = memory.Errorf(memory.Unavailable, "the index is closed")
		close(l.done)
		return l
	}
	e.load = l
	ix.work.Go(func() {
		if bare := ix.pull(e, l, base); bare > 0 {
			ix.opts.Lacking(e.owner, bare)
		}
	})
	return l
}

// pullShard updates base, or loads a new shard if base is nil. It returns how many memories have no
// vector if OnMissingVectors must be called, and otherwise 0.
func (ix *Index) pull(e *entry, l *load, base *shard) (bare int) {
	sh, bare, err := ix.followWithVectors(e.owner, base)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	defer close(l.done)
	e.load, l.err = nil, err
	if err != nil || base == nil && sh.version == 0 { // an owner without memories gets no entry
		if e.shard == nil && ix.entries[e.owner] == e {
			ix.forget(e)
		}
		return 0
	}
	l.shard = sh
	e.shard, e.version = sh, sh.version // updates run one at a time, and only they change the shard
	if ix.entries[e.owner] != e {       // evicted meanwhile; waiting searches still get the shard
		return bare
	}
	size := sh.size()
	ix.used += size - e.bytes
	e.bytes, e.size = size, len(sh.byID)
	ix.evict(e)
	if !e.saving && ix.worthSaving(sh, changedRunning) {
		e.saving = true
		ix.work.Go(func() { ix.saveConcurrently(e, sh) })
	}
	return bare
}

// followAndCheckVectors updates base like followStore, and decides whether its vectors are used.
// Once used, they stay in use for the shard's lifetime, since new memories soon get vectors.
func (ix *Index) followWithVectors(owner memory.Owner, base *shard) (sh *shard, bare int, err error) {
	before := 0
	if base != nil {
		before = base.vectorless // updates run one at a time, and only they change the shard
	}
	if sh, err = ix.follow(owner, base); err != nil || ix.opts.Lacking == nil {
		return sh, 0, err
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh != base || sh.vectorsUnused {
		sh.vectorsUnused = sh.vectorless > len(sh.byID)/vectorlessShare
	}
	if sh == base && sh.vectorless <= before {
		return sh, 0, nil
	}
	return sh, sh.vectorless, nil
}

// vectorlessDivisor is N in this rule: vectors are used if at most 1/N of the memories have no
// vector.
const vectorlessShare = 100

// followStore updates base to the store's version, or returns a new shard if base is nil or
// outdated.
func (ix *Index) follow(owner memory.Owner, base *shard) (*shard, error) {
	if base != nil {
		err := ix.catchUp(base, owner)
		if !errors.Is(err, memory.Gone) {
			return base, err
		}
	} else if sh := ix.restore(owner); sh != nil {
		return sh, nil
	}
	fresh, batch := newShard(), batch{}
	fresh.space = ix.opts.space()
	fresh.dims = fresh.space.dims
	fresh.offloaded = ix.offloads(owner)
	version, err := ix.everything(owner, fresh.space.model, func(item memory.Item, vector []uint16) error {
		if batch.full(item) {
			batch.flush(&fresh.contents)
		}
		batch = append(batch, step{item, vector})
		return nil
	})
	if err != nil {
		return nil, err
	}
	parts := len(fresh.docs) > 0 // some documents are already in posting lists
	batch.flush(&fresh.contents)
	if parts {
		fresh.pack()
	}
	if len(fresh.rowDoc) == 0 {
		fresh.dims = 0
	}
	fresh.version = version
	return fresh, nil
}

// compactSource is a [memory.Source] with an efficient full read. Everything is like Since from
// version 0, but returns vectors separately as float16 ([vector.Pack]) and only those fields of
// memories that are searched or shown.
type compactSource interface {
	Everything(ctx context.Context, owner memory.Owner, model string, yield func(item memory.Item, vector []uint16) error) (version int64, err error)
}

// readAll yields all visible memories of an owner, with the vector in the item or as a separate
// argument.
func (ix *Index) everything(owner memory.Owner, model string, yield func(memory.Item, []uint16) error) (version int64, err error) {
	if src, ok := ix.src.(compactSource); ok {
		return src.Everything(ix.ctx, owner, model, yield)
	}
	return ix.src.Since(ix.ctx, owner, model, 0, func(item memory.Item) error { return yield(item, nil) })
}

// applyChanges applies the store's later changes to a shard: all of them, or none after an error.
func (ix *Index) catchUp(sh *shard, owner memory.Owner) error {
	var items batch
	version, err := ix.src.Since(ix.ctx, owner, sh.space.model, sh.version, func(item memory.Item) error {
		items = append(items, step{Item: item})
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
type batch []step

// step is one change of a history. packedVector replaces Item.Vector if it is not empty.
type step struct {
	memory.Item
	half []uint16
}

// maxBatch is the size at which a batch is applied. Memories of one version are sorted together, so
// a batch may reach twice that size.
const maxBatch = 2048

// full reports whether the batch must be applied before next is added.
func (b batch) full(next memory.Item) bool {
	return len(b) >= maxBatch && (b[len(b)-1].Version != next.Version || len(b) == 2*maxBatch)
}

// flush applies the batch and empties it. Turns of one conversation are added in conversation
// order, not in order of id, because a search is fastest if neighbours have adjacent numbers. A
// batch contains each id once.
func (b *batch) flush(s *contents) {
	order := make([]int32, len(*b)) // sorting indexes avoids moving large steps
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int { return cmp.Or((*b)[i].compare(&(*b)[j]), cmp.Compare(i, j)) })
	s.reserve(*b)
	if len(*b) >= len(s.docs) {
		s.bufferPostings()
	}
	for _, i := range order {
		s.follow(&(*b)[i])
	}
	s.flushPostings()
	if len(s.rowDoc) == 0 { // no vector was added
		s.chunks = nil
	}
	clear(*b)
	*b = (*b)[:0]
}

// typicalWords is the initial size of an owner's map of words.
const typicalWords = 600

// reserve allocates room for a batch, so that most owners are loaded without reallocation.
func (s *contents) reserve(b batch) {
	n := len(b)
	s.docs, s.kinds, s.link, s.near = slices.Grow(s.docs, n), slices.Grow(s.kinds, n), slices.Grow(s.link, n), slices.Grow(s.near, n)
	s.olen, s.blen, s.rowDoc = slices.Grow(s.olen, n), slices.Grow(s.blen, n), slices.Grow(s.rowDoc, n)
	if len(s.docs) > 0 {
		return
	}
	terms := min(6*n, typicalWords)
	s.byID, s.terms, s.posts = make(map[key]int32, n), make(map[string]int32, terms), make([][]uint32, 0, terms)
	words, dims, rows := 0, 0, 0
	for i := range b {
		if half := b[i].half; half != nil && rows < chunkRows {
			words, dims, rows = words+len(half), vector.Dims(half), rows+1
		}
	}
	if rows > 0 {
		c := chunk{halves: make([]uint16, 0, words), ends: make([]uint32, 0, rows)}
		c.quant.Grow(rows, dims)
		s.chunks = append(s.chunks, c)
	}
}

// compareOrder orders steps for flush.
func (p *step) compare(q *step) int {
	t, u := p.Memory.Turn, q.Memory.Turn
	if p.Version != q.Version || t == nil || u == nil {
		return cmp.Or(cmp.Compare(p.Version, q.Version), cmp.Compare(place(p.Item), place(q.Item)))
	}
	return cmp.Or(cmp.Compare(t.Conversation, u.Conversation), cmp.Compare(t.Index, u.Index))
}

// turnsLast is a sort key that puts turns after all other items of a version.
func place(item memory.Item) int {
	if item.Memory.Turn != nil {
		return 1
	}
	return 0
}

// evict drops the least recently used owners except keep until the index fits its budget.
func (ix *Index) evict(but *entry) {
	for at := ix.recent.Back(); at != nil && ix.used > ix.opts.Budget; {
		e := at.Value.(*entry)
		at = at.Prev()
		if e == but || e.load != nil {
			continue
		}
		ix.forget(e)
	}
}

func (ix *Index) forget(e *entry) {
	ix.recent.Remove(e.place)
	delete(ix.entries, e.owner)
	ix.used -= e.bytes
}

// addPackedVector stores a float16 vector of [vector.Pack] and returns its row. It skips an empty
// vector and a vector whose length differs from the first.
func (s *contents) addPacked(n int32, half []uint16) int32 {
	size, values, ok := vector.Packed(half, len(half))
	if !ok || size != len(half) || values == 0 || s.dims != 0 && values != s.dims {
		return none
	}
	s.dims = values
	return s.addHalf(n, half)
}
