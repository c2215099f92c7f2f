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
	perMemory = 1 << 10
	// listWait is how long loading an owner waits for the list of large owners.
	listWait = 20 * time.Millisecond
	// maxSentIDs bounds the matching ids that are sent to the vector search. If more memories match,
	// the search asks for so many results that some should match, at most maxOutsideResults.
	fewPassing, mostPassing = 5000, 10_000
)

// VectorSearch searches vectors of active memories outside the resident index.
type VectorSearch interface {
	// Nearest returns the n memories with the vectors nearest to a question's vector, among the
	// memories with these ids. nil ids means all memories of the owner.
	Nearest(ctx context.Context, owner memory.Owner, model string, question []float32, ids []string, n int) ([]memory.Near, error)
	// Vectors returns vectors by memory, in the format of package vector.
	Vectors(ctx context.Context, owner memory.Owner, model string, ids []string) (map[string][]uint16, error)
}

// OffloadOptions are the settings of an [Offload].
type OffloadOptions struct {
	Above   int64 // index bytes of an owner, with vectors, above which the owner is offloaded; 0: all owners
	Log     *slog.Logger
	Large   func(ctx context.Context, memories int) ([]memory.Owner, error) // lists owners with more memories; may be nil
	Prepare func(context.Context, memory.Owner) error                       // called once an owner is offloaded; may be nil
}

// Offload is a resident index without the vectors of large owners, which a [VectorSearch] searches
// instead. The index still searches words, filters and merges the results, so that ranking gets the same
// candidates and scores. While the vector search fails, Offload searches only by words.
type Offload struct {
	*index.Index
	model   string
	outside VectorSearch
	opts    OffloadOptions

	ctx         context.Context // context of background work
	stop        context.CancelFunc
	work        sync.WaitGroup
	listed      chan struct{} // closed once the list of large owners is read
	searchFails atomic.Bool   // true while the vector search fails
	vectorsFail atomic.Bool   // true while reading candidates' vectors fails

	mu    sync.Mutex // guards the following fields
	large map[memory.Owner]bool
}

// NewOffload returns a searcher with an index of its own. The caller must close it.
func NewOffload(source memory.Source, indexed index.Options, outside VectorSearch, opts OffloadOptions) *Offload {
	ctx, stop := context.WithCancel(context.Background())
	o := &Offload{model: indexed.Model, outside: outside, opts: opts, ctx: ctx, stop: stop, listed: make(chan struct{}), large: map[memory.Owner]bool{}}
	indexed.Offloaded = o.offloads
	o.Index = index.New(source, indexed)
	o.work.Go(o.list)
	return o
}

// maxResident returns the number of memories above which an owner is offloaded.
func (o *Offload) maxResident() int { return int(o.opts.Above / perMemory) }

func (o *Offload) list() {
	defer close(o.listed)
	if o.opts.Above == 0 || o.opts.Large == nil {
		return
	}
	owners, err := o.opts.Large(o.ctx, o.maxResident())
	if err != nil && o.ctx.Err() == nil {
		o.opts.Log.Warn("the database did not list the large users; their vectors are loaded first", "err", err)
	}
	for _, owner := range owners {
		if o.offload(owner) && o.Memories(owner) > 0 {
			o.drop(owner)
		}
	}
}

// offloadOwner moves an owner's vectors to the vector search when the owner is loaded next. It reports
// whether the owner was not offloaded before.
func (o *Offload) offload(owner memory.Owner) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.large[owner] {
		return false
	}
	o.large[owner] = true
	if o.opts.Prepare != nil && o.ctx.Err() == nil {
		o.work.Go(func() { o.prepare(owner) })
	}
	return true
}

// prepare prepares the vector search for an owner.
func (o *Offload) prepare(owner memory.Owner) {
	if err := o.opts.Prepare(o.ctx, owner); err != nil && o.ctx.Err() == nil {
		o.opts.Log.Warn("the vector search of the database was not prepared; the next start tries again", "owner", owner, "err", err)
	}
}

// Close waits for background work and closes the index.
func (o *Offload) Close() error {
	o.mu.Lock() // no background work starts after Wait
	o.stop()
	o.mu.Unlock()
	err := o.Index.Close()
	o.work.Wait()
	return err
}

// isOffloaded reports whether the vector search has an owner's vectors. It waits briefly for the list.
func (o *Offload) offloads(owner memory.Owner) bool {
	if o.opts.Above == 0 {
		return true
	}
	select {
	case <-o.listed:
	case <-time.After(listWait):
	}
	return o.isLarge(owner)
}

func (o *Offload) isLarge(owner memory.Owner) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.opts.Above == 0 || o.large[owner]
}

// replica is a vector search with a copy of the vectors.
type follower interface {
	Warm(memory.Owner)                 // starts to copy recent writes
	Drop(memory.Owner) error           // removes an owner's copy after an erasure
	DropEarlier(context.Context) error // removes copies of vectors by other embedders
}

// Warm makes the index and the replica read recent writes.
func (o *Offload) Warm(owner memory.Owner) {
	o.Index.Warm(owner)
	if f, ok := o.outside.(follower); ok && o.isLarge(owner) {
		f.Warm(owner)
	}
}

// Drop removes an owner from the index and the replica.
func (o *Offload) Drop(owner memory.Owner) error {
	err := o.Index.Drop(owner)
	if f, ok := o.outside.(follower); ok {
		err = errors.Join(err, f.Drop(owner))
	}
	return err
}

// DropEarlier removes replicas of vectors by other embedders.
func (o *Offload) DropEarlier(ctx context.Context) error {
	if f, ok := o.outside.(follower); ok {
		return f.DropEarlier(ctx)
	}
	return nil
}

// Search finds candidates: see [memory.Searcher].
func (o *Offload) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	var away []memory.Owner
	for _, scope := range s.Scopes {
		if o.isLarge(scope.Owner) && !slices.Contains(away, scope.Owner) {
			away = append(away, scope.Owner)
		}
	}
	if len(s.Vector) > 0 && !s.ByWords {
		for _, owner := range away {
			near, err := o.nearest(ctx, owner, s)
			if o.note(ctx, &o.searchFails, err) {
				s.Near = append(s.Near, near...)
			}
		}
	}
	found, err := o.Index.Search(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, owner := range away {
		o.measure(ctx, owner, s.Vector, found)
	}
	o.look(s.Scopes)
	return found, nil
}

// nearest returns the memories that the index itself would select by vector.
func (o *Offload) nearest(ctx context.Context, owner memory.Owner, s memory.Search) ([]memory.Near, error) {
	passing, err := o.MatchFilter(ctx, owner, s, fewPassing)
	if err != nil || passing.Share == 0 {
		return nil, err
	}
	want := index.Nearest(s)
	if passing.IDs != nil {
		return o.outside.Nearest(ctx, owner, o.model, s.Vector, passing.IDs, want)
	}
	n := min(mostPassing, int(math.Ceil(1.25*float64(want)/passing.Share))) // the nearest may not match
	return o.outside.Nearest(ctx, owner, o.model, s.Vector, nil, n+len(s.Exclude))
}

// setCosines sets the vectors of candidates and their cosines.
func (o *Offload) measure(ctx context.Context, owner memory.Owner, question []float32, found []memory.Candidate) {
	var ids []string
	for _, c := range found {
		if c.Owner == owner {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	vectors, err := o.outside.Vectors(ctx, owner, o.model, ids)
	if o.note(ctx, &o.vectorsFail, err) {
		index.Measure(found, owner, question, vectors)
	}
}

// checkOutside logs when the vector search begins to fail or recovers, and reports whether err is nil.
func (o *Offload) note(ctx context.Context, failing *atomic.Bool, err error) bool {
	switch {
	case err == nil && failing.CompareAndSwap(true, false):
		o.opts.Log.Info("the vector search outside the index works again")
	case err != nil && ctx.Err() == nil && failing.CompareAndSwap(false, true):
		o.opts.Log.Warn("the vector search outside the index fails; memories are searched only by words", "err", err)
	}
	return err == nil
}

// offloadGrown offloads owners that were loaded with too many vectors.
func (o *Offload) look(scopes []memory.Scope) {
	if o.opts.Above == 0 {
		return
	}
	for _, scope := range scopes {
		if o.Memories(scope.Owner) > o.maxResident() && o.offload(scope.Owner) {
			o.drop(scope.Owner)
		}
	}
}

// reload makes the index load an owner again, without vectors.
func (o *Offload) drop(owner memory.Owner) {
	if err := o.Index.Drop(owner); err != nil {
		o.opts.Log.Warn("the index of a large user was not dropped", "owner", owner, "err", err)
	}
}
