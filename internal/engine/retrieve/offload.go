package retrieve

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/memory"
)

const (
	// bytesPerMemory is the approximate index size in bytes of a short memory with 384 dimensions.
	bytesPerMemory = 1 << 10
	// listWait is how long loading an owner waits for the list of large owners.
	listWait = 20 * time.Millisecond
	// maxSentIDs bounds the matching ids that are sent to the vector search. If more memories match, no ids
	// are sent, and more results are requested, at most maxOutsideResults, so that enough of them match.
	maxSentIDs, maxOutsideResults = 5000, 10_000
)

// VectorSearch searches vectors of active memories outside the resident index.
type VectorSearch interface {
	// Nearest returns the limit memories with the vectors nearest to a question's vector, among the memories
	// with these ids. nil ids means all memories of the owner.
	Nearest(ctx context.Context, owner memory.Owner, model string, questionVector []float32, ids []string, limit int) ([]memory.Neighbor, error)
	// Vectors returns vectors by memory, in the format of package vector.
	Vectors(ctx context.Context, owner memory.Owner, model string, ids []string) (map[string][]uint16, error)
}

// OffloadOptions are the settings of an [Offload].
type OffloadOptions struct {
	AboveBytes      int64 // index bytes of an owner, with vectors, above which the owner is offloaded; 0: all owners
	Log             *slog.Logger
	ListLargeOwners func(ctx context.Context, limit int) ([]memory.Owner, error) // lists owners with more than limit memories; may be nil
	Prepare         func(context.Context, memory.Owner) error                    // called once an owner is offloaded; may be nil
}

// Offload is a resident index without the vectors of large owners, which a [VectorSearch] searches
// instead. The index still searches words, filters and merges the results, so that ranking gets the same
// candidates and scores. While the vector search fails, Offload searches only by words.
type Offload struct {
	*index.Index
	model        string // fingerprint of the embedder
	vectorSearch VectorSearch
	opts         OffloadOptions

	ctx         context.Context // context of background work
	cancel      context.CancelFunc
	background  sync.WaitGroup
	listLoaded  chan struct{} // closed once listLarge has read the list of large owners
	searchFails atomic.Bool   // true while the vector search fails
	vectorsFail atomic.Bool   // true while reading candidates' vectors fails

	mu          sync.Mutex            // guards the following fields
	largeOwners map[memory.Owner]bool // offloaded owners
}

// NewOffload returns a searcher with an index of its own. The caller must close it.
func NewOffload(source memory.IndexSource, indexOpts index.Options, vectorSearch VectorSearch, opts OffloadOptions) *Offload {
	ctx, stop := context.WithCancel(context.Background())
	o := &Offload{model: indexOpts.Model, vectorSearch: vectorSearch, opts: opts, ctx: ctx, cancel: stop, listLoaded: make(chan struct{}), largeOwners: map[memory.Owner]bool{}}
	indexOpts.IsOffloaded = o.isOffloaded
	o.Index = index.New(source, indexOpts)
	o.background.Go(o.listLarge)
	return o
}

// maxResident returns the number of memories above which an owner is offloaded.
func (o *Offload) maxResident() int { return int(o.opts.AboveBytes / bytesPerMemory) }

func (o *Offload) listLarge() {
	defer close(o.listLoaded)
	if o.opts.AboveBytes == 0 || o.opts.ListLargeOwners == nil {
		return
	}
	owners, err := o.opts.ListLargeOwners(o.ctx, o.maxResident())
	if err != nil && o.ctx.Err() == nil {
		o.opts.Log.Warn("the database did not list the users with large memory; their vectors are loaded first and offloaded later", "err", err)
	}
	for _, owner := range owners {
		if o.offloadOwner(owner) && o.MemoryCount(owner) > 0 {
			o.reloadOwner(owner)
		}
	}
}

// offloadOwner moves an owner's vectors to the vector search when the owner is loaded next. It reports
// whether the owner was not offloaded before.
func (o *Offload) offloadOwner(owner memory.Owner) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.largeOwners[owner] {
		return false
	}
	o.largeOwners[owner] = true
	if o.opts.Prepare != nil && o.ctx.Err() == nil {
		o.background.Go(func() { o.prepareOwner(owner) })
	}
	return true
}

// prepareOwner prepares the vector search for an owner.
func (o *Offload) prepareOwner(owner memory.Owner) {
	if err := o.opts.Prepare(o.ctx, owner); err != nil && o.ctx.Err() == nil {
		o.opts.Log.Warn("the vector search of the database was not prepared; the next start tries again", "owner", owner, "err", err)
	}
}

// Close waits for background work and closes the index.
func (o *Offload) Close() error {
	o.mu.Lock() // so that no background work starts after Wait
	o.cancel()
	o.mu.Unlock()
	err := o.Index.Close()
	o.background.Wait()
	return err
}

// isOffloaded reports whether the vector search has an owner's vectors. It waits briefly until the owners are read.
func (o *Offload) isOffloaded(owner memory.Owner) bool {
	if o.opts.AboveBytes == 0 {
		return true
	}
	select {
	case <-o.listLoaded:
	case <-time.After(listWait):
	}
	return o.isLarge(owner)
}

func (o *Offload) isLarge(owner memory.Owner) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.opts.AboveBytes == 0 || o.largeOwners[owner]
}

// replica is a vector search with a copy of the vectors.
type replica interface {
	Warm(memory.Owner)                 // starts to copy recent writes
	Drop(memory.Owner) error           // removes an owner's copy after an erasure
	DropEarlier(context.Context) error // removes copies of vectors of other embedders
}

// Warm makes the index and the replica read recent writes.
func (o *Offload) Warm(owner memory.Owner) {
	o.Index.Warm(owner)
	if f, ok := o.vectorSearch.(replica); ok && o.isLarge(owner) {
		f.Warm(owner)
	}
}

// Drop removes an owner from the index and the replica.
func (o *Offload) Drop(owner memory.Owner) error {
	err := o.Index.Drop(owner)
	if f, ok := o.vectorSearch.(replica); ok {
		err = errors.Join(err, f.Drop(owner))
	}
	return err
}

// DropEarlier removes the replica's copies of vectors of other embedders.
func (o *Offload) DropEarlier(ctx context.Context) error {
	if f, ok := o.vectorSearch.(replica); ok {
		return f.DropEarlier(ctx)
	}
	return nil
}

// Search finds candidates: see [memory.Searcher].
func (o *Offload) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	var offloaded []memory.Owner
	for _, scope := range s.Scopes {
		if o.isLarge(scope.Owner) && !slices.Contains(offloaded, scope.Owner) {
			offloaded = append(offloaded, scope.Owner)
		}
	}
	if len(s.Vector) > 0 && !s.WordsOnly {
		for _, owner := range offloaded {
			near, err := o.nearestMemories(ctx, owner, s)
			if o.logOutcome(ctx, &o.searchFails, err) {
				s.Neighbors = append(s.Neighbors, near...)
			}
		}
	}
	candidates, err := o.Index.Search(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, owner := range offloaded {
		o.setCosines(ctx, owner, s.Vector, candidates)
	}
	o.offloadGrownOwners(s.Scopes)
	return candidates, nil
}

// nearestMemories returns the memories that the index itself would select by vector.
func (o *Offload) nearestMemories(ctx context.Context, owner memory.Owner, s memory.Search) ([]memory.Neighbor, error) {
	match, err := o.MatchFilter(ctx, owner, s, maxSentIDs)
	if err != nil || match.Share == 0 {
		return nil, err
	}
	limit := index.VectorPickLimit(s)
	if match.IDs != nil {
		return o.vectorSearch.Nearest(ctx, owner, o.model, s.Vector, match.IDs, limit)
	}
	n := min(maxOutsideResults, int(math.Ceil(1.25*float64(limit)/match.Share))) // more than limit, since some of the nearest may not match
	return o.vectorSearch.Nearest(ctx, owner, o.model, s.Vector, nil, n+len(s.ExcludedIDs))
}

// setCosines sets the vectors of candidates and their cosines.
func (o *Offload) setCosines(ctx context.Context, owner memory.Owner, questionVector []float32, candidates []memory.Candidate) {
	var ids []string
	for _, c := range candidates {
		if c.Owner == owner {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	vectors, err := o.vectorSearch.Vectors(ctx, owner, o.model, ids)
	if o.logOutcome(ctx, &o.vectorsFail, err) {
		index.SetVectors(candidates, owner, questionVector, vectors)
	}
}

// logOutcome logs when the vector search begins to fail or recovers, and reports whether err is nil.
func (o *Offload) logOutcome(ctx context.Context, failing *atomic.Bool, err error) bool {
	switch {
	case err == nil && failing.CompareAndSwap(true, false):
		o.opts.Log.Info("the vector search outside the index works again")
	case err != nil && ctx.Err() == nil && failing.CompareAndSwap(false, true):
		o.opts.Log.Warn("the vector search outside the index fails; memories are searched only by words", "err", err)
	}
	return err == nil
}

// offloadGrownOwners offloads owners that were loaded with too many vectors.
func (o *Offload) offloadGrownOwners(scopes []memory.Scope) {
	if o.opts.AboveBytes == 0 {
		return
	}
	for _, scope := range scopes {
		if o.MemoryCount(scope.Owner) > o.maxResident() && o.offloadOwner(scope.Owner) {
			o.reloadOwner(scope.Owner)
		}
	}
}

// reloadOwner makes the index load an owner again, without vectors.
func (o *Offload) reloadOwner(owner memory.Owner) {
	if err := o.Index.Drop(owner); err != nil {
		o.opts.Log.Warn("the index of a large user was not dropped", "owner", owner, "err", err)
	}
}
