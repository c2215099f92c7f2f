package index

import (
	"container/list"
	"context"
	"slices"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// DefaultBudget bounds the resident bytes of all owners: room for a million short memories with
// vectors of 384 dims.
const DefaultBudget = 1 << 30

// Options are the settings of an [Index].
type Options struct {
	Model  string // the model of its vectors: the embedder's Fingerprint; "": none
	Budget int64  // bytes; 0: DefaultBudget

	// Embedder replaces Model if set: its Fingerprint and, once determined, its Dims may change.
	// An owner is then loaded again for the next search.
	Embedder Embedder

	// Dir is the folder for checkpoints of large owners; "": none. Nobody else may write to it. It
	// may be emptied while no index uses it.
	Dir string

	// Lacking is called with an owner and the number of memories without a vector of Model: when
	// the owner is loaded, and when there are more. While more than one in a hundred lacks one, as
	// after a change of model, only words are searched. nil: vectors are always used. It may
	// block; no search waits for it.
	Lacking func(owner memory.Owner, memories int)

	// Offloaded reports whether an owner's vectors are searched outside: none is resident then,
	// and [memory.Search].Near has that search's results. It is called when an owner is loaded.
	// nil: never.
	Offloaded func(memory.Owner) bool

	// Report receives errors of checkpoints; nil: they are ignored. Searches do not fail for them.
	// It may be called concurrently.
	Report func(error)
}

// Embedder is the part of a [memory.Embedder] that an index uses.
type Embedder interface {
	Fingerprint() string
	Dims() int
}

// space identifies comparable vectors: those of one model and, unless 0, of one length.
type space struct {
	model string
	dims  int
}

func (o Options) space() space {
	if o.Embedder == nil {
		return space{model: o.Model}
	}
	return space{o.Embedder.Fingerprint(), o.Embedder.Dims()}
}

// Index is a [memory.Searcher] in memory. It is safe for concurrent use.
type Index struct {
	src  memory.Source
	opts Options

	ctx  context.Context // of loads, which outlive their search
	stop context.CancelFunc
	work sync.WaitGroup // loads and checkpoints

	least int        // fewest memories of an owner with checkpoints
	disk  sync.Mutex // one checkpoint is written or removed at a time; taken before mu

	mu      sync.Mutex // guards the rest and the fields of entries
	entries map[memory.Owner]*entry
	recent  list.List // of *entry, most recently used first
	used    int64
}

// entry is an owner in the index.
type entry struct {
	owner   memory.Owner
	shard   *shard // nil until loaded
	version int64
	bytes   int64
	size    int   // memories
	load    *load // in progress
	saving  bool  // a checkpoint is being written or waits
	place   *list.Element
}

// load is one pull from the store in progress.
type load struct {
	done  chan struct{}
	shard *shard // set before done is closed, and err; nil if the store has nothing
	err   error
}

// wait returns the loaded shard, nil if the store has nothing of the owner.
func (l *load) wait(ctx context.Context) (*shard, error) {
	select {
	case <-l.done:
		return l.shard, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var _ memory.Searcher = (*Index)(nil)

// New returns an index of src. Close releases it.
func New(src memory.Source, opts Options) *Index {
	if opts.Budget == 0 {
		opts.Budget = DefaultBudget
	}
	if opts.Report == nil {
		opts.Report = func(error) {}
	}
	ctx, stop := context.WithCancel(context.Background())
	removeTemporary(opts.Dir)
	ix := &Index{src: src, opts: opts, ctx: ctx, stop: stop, least: minCheckpoint, entries: map[memory.Owner]*entry{}}
	ix.watchErasures()
	return ix
}

// Close stops loads and waits for them, and writes worthwhile checkpoints for at most some seconds.
// Searches fail afterwards. Closing twice is a no-op.
func (ix *Index) Close() error {
	ix.mu.Lock() // no load starts after Wait
	ix.stop()
	ix.mu.Unlock()
	ix.work.Wait()
	ix.saveAll()
	return nil
}

// Size estimates the resident bytes of all owners.
func (ix *Index) Size() int64 {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.used
}

// Memories returns how many memories of an owner are resident.
func (ix *Index) Memories(owner memory.Owner) int {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if e := ix.entries[owner]; e != nil {
		return e.size
	}
	return 0
}

func (ix *Index) offloads(owner memory.Owner) bool {
	return ix.opts.Offloaded != nil && ix.opts.Offloaded(owner)
}

// Warm starts to update a resident owner, so that the next search need not. It ignores others and
// does not wait.
func (ix *Index) Warm(owner memory.Owner) {
	ix.mu.Lock()
	e := ix.entries[owner]
	resident := e != nil && e.shard != nil
	ix.mu.Unlock()
	if !resident {
		return
	}
	if versions, err := ix.src.Versions(ix.ctx, []memory.Owner{owner}); err == nil && versions[0] > 0 {
		ix.shardOrLoad(owner, versions[0]) // the next search reports an error
	}
}

// Drop removes an owner from memory and disk. A search loads again what the store still has.
func (ix *Index) Drop(owner memory.Owner) error {
	ix.disk.Lock()
	defer ix.disk.Unlock()
	ix.mu.Lock()
	if e := ix.entries[owner]; e != nil {
		ix.forget(e)
	}
	ix.mu.Unlock()
	return ix.removeCheckpoint(owner)
}

// Search finds candidates in everything committed before the call ([memory.Searcher]). Statistics
// of words cover everything of the scopes' owners. A search in the past is [memory.Invalid]:
// [Build] an index for it.
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

// locked searches shards in order of their owners: taking the locks in one order avoids deadlocks
// between searches and writers.
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

// current returns the shards of owners, at the store's current versions. Loading an owner also
// tells the version.
func (ix *Index) current(ctx context.Context, owners []memory.Owner) ([]*shard, error) {
	begun := make([]*load, len(owners))
	var ask []memory.Owner
	for i, owner := range owners {
		if len(owners) == 1 { // of several, most versions come from one query
			begun[i] = ix.begin(owner)
		}
		if begun[i] == nil {
			ask = append(ask, owner)
		}
	}
	var versions []int64
	if len(ask) > 0 {
		var err error
		if versions, err = ix.src.Versions(ctx, ask); err != nil {
			return nil, err
		}
	}
	shards := make([]*shard, 0, len(owners))
	for i, owner := range owners {
		var sh *shard
		var err error
		if begun[i] != nil {
			sh, err = begun[i].wait(ctx)
		} else {
			var version int64
			if version, versions = versions[0], versions[1:]; version > 0 {
				sh, err = ix.upTo(ctx, owner, version)
			}
		}
		if err != nil {
			return nil, err
		}
		if sh != nil {
			shards = append(shards, sh)
		}
	}
	return shards, nil
}
