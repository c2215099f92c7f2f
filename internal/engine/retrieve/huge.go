package retrieve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/memory"
)

// perMemory is what the resident index takes for a short memory with a vector of 384
// dims, in bytes, about.
const perMemory = 1 << 10

// buildAgain is after how many searches a build is tried again that failed.
const buildAgain = 16

const (
	// listWait is how long a search waits until it is known whom the database is ready for,
	// and followWait until the database has what was written last; then the index is asked.
	listWait   = 20 * time.Millisecond
	followWait = 100 * time.Millisecond
)

// Resident is the index that holds in memory what it searches.
type Resident interface {
	memory.Searcher
	Warm(memory.Owner)
	Drop(memory.Owner) error
	Standing(ctx context.Context, owner memory.Owner, topics english.Topics, most int) ([]string, error)
	Memories(memory.Owner) int // that it holds, without asking the store
}

// Server is a store whose database finds candidates by itself, for owners for whom the
// resident index would take too much.
type Server interface {
	// ReadyNear returns the owners of more memories than so many for whom Nearest is ready.
	ReadyNear(ctx context.Context, model string, most int) ([]memory.Owner, error)
	// BuildNear makes ready what Nearest looks at. It may be broken off, and goes on where
	// it was; busy says that somebody else is at it.
	BuildNear(ctx context.Context, owner memory.Owner, model string) (busy bool, err error)
	// FollowNear brings it up to what was committed. What it did is kept if it is broken off.
	FollowNear(ctx context.Context, owner memory.Owner, model string) error
	// TidyNear removes what is left of the owner and of other models, and of those who have
	// nothing any more.
	TidyNear(ctx context.Context, owner memory.Owner, model string) error
	// Nearest returns what may answer a question, with the turns that count for it. It is
	// [memory.NotFound] until BuildNear was done, and [memory.Conflict] while FollowNear is
	// to be done.
	Nearest(ctx context.Context, owner memory.Owner, model string, s memory.Search) (memory.Excerpt, error)
}

// HugeOptions are the settings of [DatabaseSearch].
type HugeOptions struct {
	Model   string // whose vectors are searched
	Most    int64  // bytes that an owner's resident index may take
	Log     *slog.Logger
	Lacking func(owner memory.Owner, memories int) // as [index.Options] has it; nil: nobody is told
}

// DatabaseSearch is a [memory.Searcher] in front of the resident index: owners who have very much
// are searched by the database, everybody else by the index. What the database finds is
// measured as the index does, by the statistics of all that the owner has, so that ranking
// need not know. Until the database is ready for an owner and has what was written last,
// and when it fails, the index is asked.
type DatabaseSearch struct {
	Resident
	server Server
	opts   HugeOptions

	ctx  context.Context // of what is built beside searches
	stop context.CancelFunc
	work sync.WaitGroup

	listed chan struct{} // closed when it is known whom the database is ready for

	mu     sync.Mutex // guards owners and what they point to
	owners map[memory.Owner]*side
}

// side is what is known of the database's side of an owner who has very much. Who was
// huge stays so.
type side struct {
	building  bool
	resting   int           // searches until a build is tried again that failed
	following chan struct{} // closed when the database caught up; nil: nobody brings it up to date
	ready     bool          // the database answered
	bare      int
}

// NewHuge returns a searcher. Close releases it, not the index.
func NewHuge(resident Resident, server Server, opts HugeOptions) *DatabaseSearch {
	ctx, stop := context.WithCancel(context.Background())
	h := &DatabaseSearch{Resident: resident, server: server, opts: opts, ctx: ctx, stop: stop, listed: make(chan struct{}), owners: map[memory.Owner]*side{}}
	h.work.Go(h.list)
	return h
}

// list asks whom the database is ready for. Of anybody else the index tells how much there
// is, once it has read that: no question asks for it.
func (h *DatabaseSearch) list() {
	defer close(h.listed)
	owners, err := h.server.ReadyNear(h.ctx, h.opts.Model, h.most())
	if err != nil {
		if h.ctx.Err() == nil {
			h.opts.Log.Warn("the database did not say for whom it searches; the index tells who has very much", "err", err)
		}
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, owner := range owners {
		h.isHuge(owner)
	}
}

// isHuge notes that an owner has very much. h.mu is held.
func (h *DatabaseSearch) isHuge(owner memory.Owner) {
	if h.owners[owner] == nil {
		h.owners[owner] = &side{}
	}
}

// most is how many memories an owner may have in the index.
func (h *DatabaseSearch) most() int { return int(h.opts.Most / perMemory) }

// Close breaks off what is built, which goes on at the next start. Closing twice, or nil,
// is a no-op.
func (h *DatabaseSearch) Close() error {
	if h == nil {
		return nil
	}
	h.mu.Lock() // nothing begins once Wait has begun
	h.stop()
	h.mu.Unlock()
	h.work.Wait()
	return nil
}

// Search finds candidates: see [memory.Searcher].
func (h *DatabaseSearch) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	if s.At != (memory.At{}) {
		return h.Resident.Search(ctx, s)
	}
	byOwner := map[memory.Owner][]memory.Scope{}
	var found [][]memory.Candidate
	rest := s
	rest.Scopes = nil
	for _, scope := range s.Scopes {
		if !h.huge(ctx, scope.Owner) {
			rest.Scopes = append(rest.Scopes, scope)
			continue
		}
		byOwner[scope.Owner] = append(byOwner[scope.Owner], scope)
	}
	for owner, scopes := range byOwner {
		one := s
		one.Scopes = scopes
		cands, err := h.caughtUp(ctx, owner, one)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			h.failed(owner, err)
			rest.Scopes = append(rest.Scopes, scopes...)
			continue
		}
		found = append(found, cands)
	}
	if len(rest.Scopes) > 0 {
		cands, err := h.byIndex(ctx, rest)
		if err != nil || len(found) == 0 {
			return cands, err
		}
		found = append(found, cands)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b memory.Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Owner, b.Owner))
	})
	if s.Limit > 0 {
		all = all[:min(s.Limit, len(all))]
	}
	return all, nil
}

// Standing returns nothing of those whom the database searches for: it does not know which facts stand.
func (h *DatabaseSearch) Standing(ctx context.Context, owner memory.Owner, topics english.Topics, most int) ([]string, error) {
	if h.huge(ctx, owner) {
		return nil, nil
	}
	return h.Resident.Standing(ctx, owner, topics, most)
}

// Warm lets the index or the database read what was written.
func (h *DatabaseSearch) Warm(owner memory.Owner) {
	h.mu.Lock()
	z := h.owners[owner]
	ready := z != nil && z.ready
	h.mu.Unlock()
	if !ready {
		h.Resident.Warm(owner)
		return
	}
	h.follow(owner)
}

// Drop forgets an owner, as the index does, and removes what the database has of those who
// have nothing any more.
func (h *DatabaseSearch) Drop(owner memory.Owner) error {
	h.mu.Lock()
	if h.owners[owner] != nil && h.ctx.Err() == nil {
		h.work.Go(func() { h.tidy(owner) })
	}
	h.mu.Unlock()
	return h.Resident.Drop(owner)
}

func (h *DatabaseSearch) tidy(owner memory.Owner) {
	if err := h.server.TidyNear(h.ctx, owner, h.opts.Model); err != nil && h.ctx.Err() == nil {
		h.opts.Log.Warn("what the database has for searches was not tidied; the next start tries again", "owner", owner, "err", err)
	}
}

// huge reports whether the database is to search for an owner.
func (h *DatabaseSearch) huge(ctx context.Context, owner memory.Owner) bool {
	select {
	case <-h.listed:
	default:
		await(ctx, h.listed, time.After(listWait))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.owners[owner] != nil
}

// byIndex has the index search, and looks who has too much for it.
func (h *DatabaseSearch) byIndex(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	found, err := h.Resident.Search(ctx, s)
	for _, scope := range s.Scopes {
		if h.Memories(scope.Owner) > h.most() {
			h.mu.Lock()
			h.isHuge(scope.Owner)
			h.mu.Unlock()
		}
	}
	return found, err
}

// await reports whether done was closed before the time was up or ctx ended.
func await(ctx context.Context, done <-chan struct{}, up <-chan time.Time) bool {
	select {
	case <-done:
		return true
	case <-up:
	case <-ctx.Done():
	}
	return false
}

// caughtUp asks the database, which may have to be brought up to what was written first,
// for a while.
func (h *DatabaseSearch) caughtUp(ctx context.Context, owner memory.Owner, s memory.Search) ([]memory.Candidate, error) {
	var up <-chan time.Time
	for {
		found, err := h.ask(ctx, owner, s)
		if !errors.Is(err, memory.Conflict) {
			return found, err
		}
		if up == nil {
			up = time.After(followWait)
		}
		if !await(ctx, h.follow(owner), up) {
			return nil, err
		}
	}
}

// follow brings the database up to what was written, beside searches. What it returns is
// closed then.
func (h *DatabaseSearch) follow(owner memory.Owner) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	z := h.owners[owner]
	if z.following != nil || h.ctx.Err() != nil {
		return z.following
	}
	done := make(chan struct{})
	z.following = done
	h.work.Go(func() {
		err := h.server.FollowNear(h.ctx, owner, h.opts.Model)
		if err != nil && h.ctx.Err() == nil {
			h.opts.Log.Warn("the database was not brought up to date for a search; the index is asked", "owner", owner, "err", err)
		}
		h.mu.Lock()
		z.following = nil
		h.mu.Unlock()
		if err == nil { // who waits else asks the index
			close(done)
		}
	})
	return done
}

// failed notes that the database did not answer, and has it made ready if it is not.
func (h *DatabaseSearch) failed(owner memory.Owner, err error) {
	h.mu.Lock()
	if z := h.owners[owner]; z != nil && !errors.Is(err, memory.Conflict) {
		z.ready = false
	}
	h.mu.Unlock()
	switch {
	case errors.Is(err, memory.NotFound):
		h.build(owner)
	case !errors.Is(err, memory.Conflict):
		h.opts.Log.Warn("the database did not search for an owner who has very much; the index does", "owner", owner, "err", err)
	}
}

// ask has the database find candidates, and measures them.
func (h *DatabaseSearch) ask(ctx context.Context, owner memory.Owner, s memory.Search) ([]memory.Candidate, error) {
	found, err := h.server.Nearest(ctx, owner, h.opts.Model, s)
	if err != nil {
		return nil, err
	}
	h.answered(owner, found.Bare)
	return index.BuildExcerpt(found).Search(ctx, s)
}

// answered notes that the database did, and drops what the index has.
func (h *DatabaseSearch) answered(owner memory.Owner, bare int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	z := h.owners[owner]
	if z == nil || h.ctx.Err() != nil {
		return
	}
	first, lacks := !z.ready, bare > z.bare
	z.ready, z.bare = true, bare
	if !first && !lacks {
		return
	}
	h.work.Go(func() {
		if first {
			if err := h.Resident.Drop(owner); err != nil {
				h.opts.Log.Warn("the index of an owner whom the database searches was not dropped", "owner", owner, "err", err)
			}
			h.tidy(owner)
		}
		if lacks && h.opts.Lacking != nil {
			h.opts.Lacking(owner, bare)
		}
	})
}

// build makes the database ready for an owner, beside searches.
func (h *DatabaseSearch) build(owner memory.Owner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	z := h.owners[owner]
	if z == nil || z.building || h.ctx.Err() != nil {
		return
	}
	if z.resting > 0 {
		z.resting--
		return
	}
	z.building = true
	h.work.Go(func() {
		h.opts.Log.Info("the database is made ready to search for an owner who has very much", "owner", owner)
		busy, err := h.server.BuildNear(h.ctx, owner, h.opts.Model)
		h.mu.Lock()
		if z.building = false; err != nil {
			z.resting = buildAgain
		}
		h.mu.Unlock()
		switch {
		case h.ctx.Err() != nil:
		case err != nil:
			h.opts.Log.Warn("the database was not made ready to search; a later search tries again", "owner", owner, "err", err)
		case !busy:
			h.opts.Log.Info("the database searches for an owner from here on", "owner", owner)
		}
	})
}
