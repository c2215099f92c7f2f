package index

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// upTo returns the owner's shard once it is at version want or later. The pull
// goes on when ctx ends, for whoever asks next.
func (ix *Index) upTo(ctx context.Context, owner memory.Owner, want int64) (*shard, error) {
	for {
		sh, l := ix.shardOrLoad(owner, want)
		if sh != nil {
			return sh, nil
		}
		select {
		case <-l.done:
			if l.err != nil {
				return nil, l.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (ix *Index) shardOrLoad(owner memory.Owner, want int64) (*shard, *load) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	e := ix.entries[owner]
	if e == nil {
		e = &entry{owner: owner}
		e.place = ix.recent.PushFront(e)
		ix.entries[owner] = e
	}
	ix.recent.MoveToFront(e.place)
	if e.shard != nil && e.version >= want {
		return e.shard, nil
	}
	if e.load == nil {
		e.load = &load{done: make(chan struct{})}
		if ix.ctx.Err() != nil {
			e.load.err = memory.Errorf(memory.Unavailable, "the index is closed")
			close(e.load.done)
			return nil, e.load
		}
		l, base := e.load, e.shard
		ix.work.Go(func() {
			if bare := ix.pull(e, l, base); bare > 0 {
				ix.opts.Lacking(owner, bare)
			}
		})
	}
	return nil, e.load
}

// pull brings a shard, nil for one to be made, to the store's version, and returns how
// many memories have no vector, if somebody is to be told.
func (ix *Index) pull(e *entry, l *load, base *shard) (bare int) {
	sh, bare, err := ix.whole(e.owner, base)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	defer close(l.done)
	e.load, l.err = nil, err
	if err != nil {
		return 0
	}
	e.shard, e.version = sh, sh.version // only pulls change it, one at a time
	if ix.entries[e.owner] != e {       // evicted meanwhile: whoever waits still gets it
		return bare
	}
	size := sh.size()
	ix.used += size - e.bytes
	e.bytes = size
	ix.evict(e)
	if !e.saving && ix.worthSaving(sh, changedRunning) {
		e.saving = true
		ix.work.Go(func() { ix.saveBeside(e, sh) })
	}
	return bare
}

// whole brings base up to the store's version as follow does, and decides whether its
// vectors are used. Once they are, they are as long as the shard lives: what is
// written without a vector gets one soon.
func (ix *Index) whole(owner memory.Owner, base *shard) (sh *shard, bare int, err error) {
	before := 0
	if base != nil {
		before = base.bare // only pulls change it, one at a time
	}
	if sh, err = ix.follow(owner, base); err != nil || ix.opts.Lacking == nil {
		return sh, 0, err
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh != base || sh.resting {
		sh.resting = sh.bare > len(sh.byID)/bareShare
	}
	if sh == base && sh.bare <= before {
		return sh, 0, nil
	}
	return sh, sh.bare, nil
}

// bareShare is of how many memories one may have no vector for the others' to be used.
const bareShare = 100

// follow brings base up to the store's version, or returns a new shard that is.
func (ix *Index) follow(owner memory.Owner, base *shard) (*shard, error) {
	if base != nil {
		err := ix.catchUp(base, owner)
		if !errors.Is(err, memory.Gone) {
			return base, err
		}
	} else if sh := ix.restore(owner); sh != nil {
		return sh, nil
	}
	fresh, batch, seen := newShard(), batch{}, vocabulary{}
	version, err := ix.src.Since(ix.ctx, owner, ix.opts.Model, 0, func(item memory.Item) error {
		if batch.full(item) {
			batch.flush(&fresh.contents, seen)
		}
		batch = append(batch, item)
		return nil
	})
	if err != nil {
		return nil, err
	}
	batch.flush(&fresh.contents, seen)
	fresh.pack()
	fresh.version = version
	return fresh, nil
}

// catchUp takes what is newer than a shard from the store, all or nothing.
func (ix *Index) catchUp(sh *shard, owner memory.Owner) error {
	var items batch
	version, err := ix.src.Since(ix.ctx, owner, ix.opts.Model, sh.version, func(item memory.Item) error {
		items = append(items, item)
		return nil
	})
	if err != nil {
		return err
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	items.flush(&sh.contents, nil)
	sh.version = version
	return nil
}

// batch is items that were not applied yet.
type batch []memory.Item

// maxBatch bounds what waits to be put in order.
const maxBatch = 2048

// full reports whether the batch is to be applied before it takes another item:
// what was written at once is best put in order together.
func (b batch) full(next memory.Item) bool {
	return len(b) > 0 && (b[0].Version != next.Version || len(b) == maxBatch)
}

// flush applies the batch and empties it. The turns of a conversation that were
// written at once come in their order, and not in that of their ids: neighbours
// with neighbouring numbers are searched the fastest. An id comes only once.
func (b *batch) flush(s *contents, seen vocabulary) {
	slices.SortStableFunc(*b, func(x, y memory.Item) int {
		if x.Version != y.Version || x.Memory.Turn == nil || y.Memory.Turn == nil {
			return cmp.Or(cmp.Compare(x.Version, y.Version), cmp.Compare(place(x), place(y)))
		}
		t, u := x.Memory.Turn, y.Memory.Turn
		return cmp.Or(cmp.Compare(t.Conversation, u.Conversation), cmp.Compare(t.Index, u.Index))
	})
	for _, item := range *b {
		s.apply(item, seen)
	}
	clear(*b)
	*b = (*b)[:0]
}

// place puts turns behind everything else of a version.
func place(item memory.Item) int {
	if item.Memory.Turn != nil {
		return 1
	}
	return 0
}

// evict drops the owners used the longest ago until the budget is kept, but never
// the one just loaded.
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

// forget takes an owner out of the index. Whoever searches it goes on.
func (ix *Index) forget(e *entry) {
	ix.recent.Remove(e.place)
	delete(ix.entries, e.owner)
	ix.used -= e.bytes
}
