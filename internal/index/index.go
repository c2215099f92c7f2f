package index

import (
	"container/list"
	"context"
	"slices"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// DefaultBudget is the default of [Options].Budget: room for a million short memories with vectors
// of 384 dimensions.
const DefaultBudget = 1 << 30

// Options are the settings of an [Index].
type Options struct {
	Model  string // fingerprint of the embedder whose vectors are searched; "" uses none
	Budget int64  // maximum resident bytes of all owners; 0 means DefaultBudget

	// Embedder replaces Model if set. After a change of its Fingerprint or its Dims, owners are
	// reloaded at their next search.
	Embedder Embedder

	// Dir is the folder for checkpoints of large owners; "" disables checkpoints. No other program
	// may write to the folder. It may be emptied while no index uses it.
	Dir string

	// OnMissingVectors is called with an owner and the number of memories without a vector of Model
	// when the owner is loaded and when that number grows. While more than 1 % of the memories have
	// no vector, as after a change of model, only words are searched. If OnMissingVectors is nil,
	// vectors are always used. Searches do not wait for the call.
	OnMissingVectors func(owner memory.Owner, missing int)

	// IsOffloaded reports whether an owner's vectors are searched outside the index. [memory.Search].Neighbors
	// then holds the results of that search. It is called when an owner is loaded; nil offloads no owner.
	IsOffloaded func(memory.Owner) bool

	// Report receives errors of checkpoints, which do not fail searches; nil ignores them. It may
	// be called concurrently.
	Report func(error)
}

// Embedder is the part of a [memory.Embedder] that an index uses.
type Embedder interface {
	Fingerprint() string
	Dims() int
}

// vectorSpace identifies comparable vectors by their model and length. dims 0 means any length.
type vectorSpace struct {
	model string
	dims  int
}

func (o Options) vectorSpace() vectorSpace {
	if o.Embedder == nil {
		return vectorSpace{model: o.Model}
	}
	return vectorSpace{o.Embedder.Fingerprint(), o.Embedder.Dims()}
}

// Index is a [memory.Searcher] in memory. It is safe for concurrent use.
type Index struct {
	src  memory.IndexSource
	opts Options

	ctx        context.Context // context of loads, which may outlive the searches that start them
	cancel     context.CancelFunc
	background sync.WaitGroup // running loads and checkpoint writers

	checkpointMinimum int        // minimum number of an owner's memories for a checkpoint
	diskMu            sync.Mutex // serializes writing and removing checkpoints; locked before mu

	mu            sync.Mutex // guards the following fields and the fields of every ownerEntry
	entries       map[memory.Owner]*ownerEntry
	byRecentUse   list.List // of *ownerEntry, most recently used first
	residentBytes int64
}

// ownerEntry is the index's record of an owner, loaded or being loaded.
type ownerEntry struct {
	owner         memory.Owner
	shard         *shard // nil until loaded
	version       int64
	residentBytes int64
	memoryCount   int          // number of the owner's resident memories
	pending       *pendingLoad // the load in progress; nil if there is none
	saving        bool         // true while a checkpoint is written or waits for diskMu
	element       *list.Element
}

// pendingLoad is a load or an update of an owner in progress.
type pendingLoad struct {
	done  chan struct{}
	shard *shard // shard and err are set before done is closed; shard is nil if the store has no memories
	err   error
}

// wait waits for the load and returns its shard, or nil if the store has no memories of the owner.
func (l *pendingLoad) wait(ctx context.Context) (*shard, error) {
	select {
	case <-l.done:
		return l.shard, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var _ memory.Searcher = (*Index)(nil)

// New returns an index of the memories in src. The caller must close the index.
func New(src memory.IndexSource, opts Options) *Index {
	if opts.Budget == 0 {
		opts.Budget = DefaultBudget
	}
	if opts.Report == nil {
		opts.Report = func(error) {}
	}
	ctx, stop := context.WithCancel(context.Background())
	removeTemporary(opts.Dir)
	ix := &Index{src: src, opts: opts, ctx: ctx, cancel: stop, checkpointMinimum: minCheckpoint, entries: map[memory.Owner]*ownerEntry{}}
	ix.watchErasures()
	return ix
}

// Close stops loads and waits until they end, then writes checkpoints for at most a few seconds.
// Later searches fail. Closing twice is a no-op.
func (ix *Index) Close() error {
	ix.mu.Lock() // no new load starts after cancel
	ix.cancel()
	ix.mu.Unlock()
	ix.background.Wait()
	ix.saveAllCheckpoints()
	return nil
}

// Size estimates the resident bytes of all owners.
func (ix *Index) Size() int64 {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.residentBytes
}

// MemoryCount returns how many memories of an owner are resident.
func (ix *Index) MemoryCount(owner memory.Owner) int {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if e := ix.entries[owner]; e != nil {
		return e.memoryCount
	}
	return 0
}

func (ix *Index) isOffloaded(owner memory.Owner) bool {
	return ix.opts.IsOffloaded != nil && ix.opts.IsOffloaded(owner)
}

// Warm starts to update an owner that is already loaded, so that the next search is faster. It
// ignores owners that are not loaded, and it does not wait.
func (ix *Index) Warm(owner memory.Owner) {
	ix.mu.Lock()
	e := ix.entries[owner]
	resident := e != nil && e.shard != nil
	ix.mu.Unlock()
	if !resident {
		return
	}
	if versions, err := ix.src.Versions(ix.ctx, []memory.Owner{owner}); err == nil && versions[0] > 0 {
		ix.shardOrLoad(owner, versions[0]) // the next search reports any error
	}
}

// Drop removes an owner from memory and disk. The next search reloads what the store still has.
func (ix *Index) Drop(owner memory.Owner) error {
	ix.diskMu.Lock()
	defer ix.diskMu.Unlock()
	ix.mu.Lock()
	if e := ix.entries[owner]; e != nil {
		ix.removeEntry(e)
	}
	ix.mu.Unlock()
	return ix.removeCheckpoint(owner)
}

// Search finds candidates among all memories committed before the call ([memory.Searcher]). Word
// statistics cover all memories of the searched owners. If s.At is set, Search returns
// [memory.Invalid]; [Build] an index for a search in the past.
func (ix *Index) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	if s.At != (memory.At{}) {
		return nil, memory.Errorf(memory.Invalid, "the resident index holds only the present; use Build for another time")
	}
	owners := ownersOf(s.Scopes)
	if len(owners) == 0 {
		return nil, nil
	}
	shards, err := ix.currentShards(ctx, owners)
	if err != nil {
		return nil, err
	}
	return searchLocked(ctx, shards, s)
}

// searchLocked locks the shards, which must be in order of their owners, and searches them. The
// fixed order avoids deadlocks between searches and writers.
func searchLocked(ctx context.Context, shards []*shard, s memory.Search) ([]memory.Candidate, error) {
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

// currentShards returns the shards of owners at the store's current versions.
func (ix *Index) currentShards(ctx context.Context, owners []memory.Owner) ([]*shard, error) {
	loads := make([]*pendingLoad, len(owners))
	var unversioned []memory.Owner
	for i, owner := range owners {
		if len(owners) == 1 { // for several owners, one query for all versions is faster
			loads[i] = ix.loadIfAbsent(owner)
		}
		if loads[i] == nil {
			unversioned = append(unversioned, owner)
		}
	}
	var versions []int64
	if len(unversioned) > 0 {
		var err error
		if versions, err = ix.src.Versions(ctx, unversioned); err != nil {
			return nil, err
		}
	}
	shards := make([]*shard, 0, len(owners))
	for i, owner := range owners {
		var sh *shard
		var err error
		if loads[i] != nil {
			sh, err = loads[i].wait(ctx)
		} else {
			var version int64
			if version, versions = versions[0], versions[1:]; version > 0 {
				sh, err = ix.shardAtVersion(ctx, owner, version)
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
