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
	// perMemory is what the resident index takes for a short memory with a vector of 384
	// dims, in bytes, about.
	perMemory = 1 << 10
	// listWait is how long the load of an owner waits to learn who has very much.
	listWait = 20 * time.Millisecond
	// fewPassing is how many ids a filter may leave for them to be named in a search
	// elsewhere; of more, so many are asked for that enough of them pass, mostPassing at most.
	fewPassing, mostPassing = 5000, 10_000
)

// VectorSearch finds vectors outside of this process. Vectors are those of active memories.
type VectorSearch interface {
	// Nearest returns the n memories whose vectors of a model are nearest to a question's:
	// of all that the owner has or, unless ids is nil, of these.
	Nearest(ctx context.Context, owner memory.Owner, model string, question []float32, ids []string, n int) ([]memory.Near, error)
	// Vectors returns vectors by their memories, as package vector packs them.
	Vectors(ctx context.Context, owner memory.Owner, model string, ids []string) (map[string][]uint16, error)
}

// OffloadOptions are the settings of an [Offload].
type OffloadOptions struct {
	Above   int64 // bytes that an owner's index may take with vectors; 0: nobody's has any
	Log     *slog.Logger
	Large   func(ctx context.Context, memories int) ([]memory.Owner, error) // who has more than so many; nil: only loading tells
	Prepare func(context.Context, memory.Owner) error                       // is run beside searches once an owner is offloaded; nil: nothing is
}

// Offload is a resident index without the vectors of owners who have very much: these are
// searched elsewhere. Words and their statistics stay in the index, which also filters what
// was found elsewhere and puts it beside what words find, so that ranking gets the same
// candidates with the same numbers. While the search elsewhere fails, words alone find.
type Offload struct {
	*index.Index
	model   string
	outside VectorSearch
	opts    OffloadOptions

	ctx    context.Context // of what is done beside searches
	stop   context.CancelFunc
	work   sync.WaitGroup
	listed chan struct{} // closed when it is known who has very much
	blind  atomic.Bool   // nearest fails
	unread atomic.Bool   // vectors of candidates cannot be read

	mu    sync.Mutex // guards large
	large map[memory.Owner]bool
}

// NewOffload returns a searcher with an index of its own. Close releases both.
func NewOffload(source memory.Source, indexed index.Options, outside VectorSearch, opts OffloadOptions) *Offload {
	ctx, stop := context.WithCancel(context.Background())
	o := &Offload{model: indexed.Model, outside: outside, opts: opts, ctx: ctx, stop: stop, listed: make(chan struct{}), large: map[memory.Owner]bool{}}
	indexed.Offloaded = o.offloads
	o.Index = index.New(source, indexed)
	o.work.Go(o.list)
	return o
}

// most is how many memories an owner may have in the index with vectors.
func (o *Offload) most() int { return int(o.opts.Above / perMemory) }

func (o *Offload) list() {
	defer close(o.listed)
	if o.opts.Above == 0 || o.opts.Large == nil {
		return
	}
	owners, err := o.opts.Large(o.ctx, o.most())
	if err != nil && o.ctx.Err() == nil {
		o.opts.Log.Warn("the database did not say which users have very much; their vectors are loaded first", "err", err)
	}
	for _, owner := range owners {
		if o.offload(owner) && o.Memories(owner) > 0 {
			o.drop(owner)
		}
	}
}

// offload has an owner's vectors searched elsewhere from the next load on, and reports whether
// they were not so far.
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

// prepare readies the search elsewhere for an owner.
func (o *Offload) prepare(owner memory.Owner) {
	if err := o.opts.Prepare(o.ctx, owner); err != nil && o.ctx.Err() == nil {
		o.opts.Log.Warn("vectors outside of the index were not made ready to be searched; the next start tries again", "owner", owner, "err", err)
	}
}

// Close waits for what is done beside searches and closes the index.
func (o *Offload) Close() error {
	o.mu.Lock() // nothing begins once Wait has begun
	o.stop()
	o.mu.Unlock()
	err := o.Index.Close()
	o.work.Wait()
	return err
}

// offloads reports whether an owner's vectors are searched elsewhere.
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

// follower is a search elsewhere that has a copy of its own.
type follower interface {
	Warm(memory.Owner)                 // begins to copy what was written
	Drop(memory.Owner) error           // removes what is there, since some was erased
	DropEarlier(context.Context) error // gives up what is there by other embedders
}

// Warm lets the index, and the copy elsewhere, read what was written.
func (o *Offload) Warm(owner memory.Owner) {
	o.Index.Warm(owner)
	if f, ok := o.outside.(follower); ok && o.isLarge(owner) {
		f.Warm(owner)
	}
}

// Drop forgets an owner, as the index does, elsewhere too.
func (o *Offload) Drop(owner memory.Owner) error {
	err := o.Index.Drop(owner)
	if f, ok := o.outside.(follower); ok {
		err = errors.Join(err, f.Drop(owner))
	}
	return err
}

// DropEarlier gives up the copies elsewhere of vectors by other embedders.
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
			if o.note(ctx, &o.blind, err) {
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

// nearest asks for as many memories as the index would pick by their vectors.
func (o *Offload) nearest(ctx context.Context, owner memory.Owner, s memory.Search) ([]memory.Near, error) {
	passing, err := o.Passing(ctx, owner, s, fewPassing)
	if err != nil || passing.Share == 0 {
		return nil, err
	}
	want := index.Nearest(s)
	if passing.IDs != nil {
		return o.outside.Nearest(ctx, owner, o.model, s.Vector, passing.IDs, want)
	}
	n := min(mostPassing, int(math.Ceil(1.25*float64(want)/passing.Share))) // what passes may lie further off
	return o.outside.Nearest(ctx, owner, o.model, s.Vector, nil, n+len(s.Exclude))
}

// measure gives what was found its vectors.
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
	if o.note(ctx, &o.unread, err) {
		index.Measure(found, owner, question, vectors)
	}
}

// note logs when the search elsewhere begins to fail and when it is back, and reports whether
// it did not fail.
func (o *Offload) note(ctx context.Context, failing *atomic.Bool, err error) bool {
	switch {
	case err == nil && failing.CompareAndSwap(true, false):
		o.opts.Log.Info("the search of vectors outside of the index is back")
	case err != nil && ctx.Err() == nil && failing.CompareAndSwap(false, true):
		o.opts.Log.Warn("vectors were not searched; words alone find until that is back", "err", err)
	}
	return err == nil
}

// look offloads who was loaded with vectors and has too many.
func (o *Offload) look(scopes []memory.Scope) {
	if o.opts.Above == 0 {
		return
	}
	for _, scope := range scopes {
		if o.Memories(scope.Owner) > o.most() && o.offload(scope.Owner) {
			o.drop(scope.Owner)
		}
	}
}

// drop has an owner loaded again, without vectors.
func (o *Offload) drop(owner memory.Owner) {
	if err := o.Index.Drop(owner); err != nil {
		o.opts.Log.Warn("the index of a user who has very much was not dropped", "owner", owner, "err", err)
	}
}
