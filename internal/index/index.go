package index

import (
	"container/list"
	"context"
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

	// Embedder names the model instead of Model where one is set: its Fingerprint, and its Dims once
	// they are known, may change. An owner is loaded again for the next search then.
	Embedder Embedder

	// Dir is the folder for checkpoints of large owners; "": none are made. Nobody
	// else may write to it. It may be emptied at any time while no index has it.
	Dir string

	// Lacking is told of an owner some of whose memories have no vector of Model: when
	// that owner is loaded, and when there are more of them. While more than one in
	// a hundred has none, the vectors of all rest, and words alone find: then the
	// model is another than before. nil: vectors are used as they are. It may take
	// its time; no search waits for it.
	Lacking func(owner memory.Owner, memories int)

	// Offloaded reports whether an owner's vectors are searched elsewhere: then none is
	// resident, and [memory.Search].Near says what was found there. It is asked when an owner
	// is loaded. nil: of nobody.
	Offloaded func(memory.Owner) bool

	// Report is told what went wrong with checkpoints; nil: nobody is. Searches do
	// not fail for that. It may be called from several goroutines at once.
	Report func(error)
}

// Embedder is what an index asks a [memory.Embedder].
type Embedder interface {
	Fingerprint() string
	Dims() int
}

// space is what vectors are compared in: those of one model and, unless it is 0, of one length.
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

// Index is a [memory.Searcher] that holds in memory what it searches. It is safe
// for concurrent use.
type Index struct {
	src  memory.Source
	opts Options

	ctx  context.Context // of loads, which outlive the search that began them
	stop context.CancelFunc
	work sync.WaitGroup // loads and checkpoints

	least int        // memories an owner has that gets checkpoints
	disk  sync.Mutex // one checkpoint is written or removed at a time; taken before mu

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
	size    int   // memories
	load    *load // under way
	saving  bool  // a checkpoint is being written, or waits for its turn
	place   *list.Element
}

// load is one pull from the store.
type load struct {
	done  chan struct{}
	shard *shard // set before done is closed, and err; nil if the store has nothing
	err   error
}

// wait returns what was loaded, nil if the store has nothing of the owner.
func (l *load) wait(ctx context.Context) (*shard, error) {
	select {
	case <-l.done:
		return l.shard, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var _ memory.Searcher = (*Index)(nil)

// New returns an index of what src has. Close releases it.
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

// Close stops loads under way and waits for them, and writes what checkpoints are
// worth it, for some seconds at most. Searches fail afterwards. Closing twice is a
// no-op.
func (ix *Index) Close() error {
	ix.mu.Lock() // no load begins once Wait has begun
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

// Memories returns how many memories of an owner are resident, as far as is known
// without asking the store.
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

// Warm begins to bring an owner who is resident up to date, so that the next search
// need not. Of another it does nothing. It does not wait for the pull.
func (ix *Index) Warm(owner memory.Owner) {
	ix.mu.Lock()
	e := ix.entries[owner]
	resident := e != nil && e.shard != nil
	ix.mu.Unlock()
	if !resident {
		return
	}
	if versions, err := ix.src.Versions(ix.ctx, []memory.Owner{owner}); err == nil && versions[0] > 0 {
		ix.shardOrLoad(owner, versions[0]) // an error is for the search that needs it
	}
}

// Drop forgets an owner, in memory and on disk. A search of it loads anew what the
// store still has.
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

// current returns the shards of owners, none older than the store is now. What is read
// of one who is not resident tells the version as well.
func (ix *Index) current(ctx context.Context, owners []memory.Owner) ([]*shard, error) {
	begun := make([]*load, len(owners))
	var ask []memory.Owner
	for i, owner := range owners {
		if len(owners) == 1 { // of several, most are asked for in one question
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
