package index

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// DefaultBudget bounds the resident bytes of all owners together: room for a
// million short memories with vectors of 384 dims.
const DefaultBudget = 1 << 30

// Options are the settings of an [Index].
type Options struct {
	Model  string // whose vectors it holds: the embedder's Fingerprint; "": none
	Budget int64  // bytes; 0: DefaultBudget
}

// Index is a [memory.Searcher] that holds in memory what it searches. It is safe
// for concurrent use.
type Index struct {
	src  memory.Source
	opts Options

	ctx   context.Context // of loads, which outlive the search that began them
	stop  context.CancelFunc
	loads sync.WaitGroup

	mu      sync.Mutex // guards all below and the fields of entries
	entries map[memory.Owner]*entry
	recent  list.List // of *entry, the most recently used first
	used    int64
}

// entry is an owner's place in the index.
type entry struct {
	owner   memory.Owner
	shard   *shard // nil until loaded
	version int64
	bytes   int64
	load    *load // under way
	place   *list.Element
}

// load is one pull from the store.
type load struct {
	done chan struct{}
	err  error // set before done is closed
}

var _ memory.Searcher = (*Index)(nil)

// New returns an index of what src has. Close releases it.
func New(src memory.Source, opts Options) *Index {
	if opts.Budget == 0 {
		opts.Budget = DefaultBudget
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Index{src: src, opts: opts, ctx: ctx, stop: stop, entries: map[memory.Owner]*entry{}}
}

// Close stops loads under way and waits for them. Searches fail afterwards.
func (ix *Index) Close() error {
	ix.stop()
	ix.loads.Wait()
	return nil
}

// Search finds candidates in all that was committed before it was called
// ([memory.Searcher]). Statistics of words are of all that the scopes' owners
// have. A search in the past is [memory.Invalid]: [Build] an index for it.
func (ix *Index) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	if s.At != (memory.At{}) {
		return nil, memory.Errorf(memory.Invalid, "the resident index knows only the present; build one for another time")
	}
	owners := ownersOf(s.Scopes)
	if len(owners) == 0 {
		return nil, nil
	}
	shards, err := ix.current(ctx, owners)
	if err != nil {
		return nil, err
	}
	return locked(ctx, shards, s)
}

// locked searches shards, which are in order of their owners: taking the locks in
// one order is what keeps two searches and a writer from waiting in a circle.
func locked(ctx context.Context, shards []*shard, s memory.Search) ([]memory.Candidate, error) {
	for _, sh := range shards {
		sh.mu.RLock()
		defer sh.mu.RUnlock()
	}
	return search(ctx, shards, s)
}

func ownersOf(scopes []memory.Scope) []memory.Owner {
	var owners []memory.Owner
	for _, s := range scopes {
		owners = append(owners, s.Owner)
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// current returns the shards of owners, none older than the store is now.
func (ix *Index) current(ctx context.Context, owners []memory.Owner) ([]*shard, error) {
	versions, err := ix.src.Versions(ctx, owners)
	if err != nil {
		return nil, err
	}
	var shards []*shard
	for i, owner := range owners {
		if versions[i] == 0 {
			continue
		}
		sh, err := ix.upTo(ctx, owner, versions[i])
		if err != nil {
			return nil, err
		}
		shards = append(shards, sh)
	}
	return shards, nil
}

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
		l, base, version := e.load, e.shard, e.version
		ix.loads.Go(func() { ix.pull(e, l, base, version) })
	}
	return nil, e.load
}

// pull brings a shard, nil for one to be made, from a version to the store's.
func (ix *Index) pull(e *entry, l *load, base *shard, version int64) {
	sh, version, err := ix.follow(e.owner, base, version)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	defer close(l.done)
	e.load, l.err = nil, err
	if err != nil {
		return
	}
	e.shard, e.version = sh, version
	if ix.entries[e.owner] != e { // evicted meanwhile: whoever waits still gets it
		return
	}
	size := sh.size()
	ix.used += size - e.bytes
	e.bytes = size
	ix.evict(e)
}

func (ix *Index) follow(owner memory.Owner, base *shard, version int64) (*shard, int64, error) {
	if base != nil {
		var items []memory.Item
		next, err := ix.src.Since(ix.ctx, owner, ix.opts.Model, version, func(item memory.Item) error {
			items = append(items, item)
			return nil
		})
		if err == nil {
			base.mu.Lock()
			defer base.mu.Unlock()
			for _, item := range items {
				base.apply(item, nil)
			}
			return base, next, nil
		}
		if !errors.Is(err, memory.Gone) {
			return nil, 0, err
		}
	}
	fresh, seen := newShard(), vocabulary{}
	next, err := ix.src.Since(ix.ctx, owner, ix.opts.Model, 0, func(item memory.Item) error {
		fresh.apply(item, seen)
		return nil
	})
	return fresh, next, err
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
		ix.recent.Remove(e.place)
		delete(ix.entries, e.owner)
		ix.used -= e.bytes
	}
}
