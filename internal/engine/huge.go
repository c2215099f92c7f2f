package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/memory"
)

// perMemory is what the resident index takes for a short memory with a vector of 384
// dims, in bytes, about.
const perMemory = 1 << 10

// lookAgain is after how many searches of an owner it is asked again how much there is.
const lookAgain = 256

// maxSizes is of how many owners it is remembered whether they have very much.
const maxSizes = 1 << 16

// Resident is the index that holds in memory what it searches.
type Resident interface {
	memory.Searcher
	Warm(memory.Owner)
	Drop(memory.Owner) error
}

// Server is a store whose database finds candidates by itself, for owners for whom the
// resident index would take too much.
type Server interface {
	// Exceeds reports whether an owner has more memories than so many.
	Exceeds(ctx context.Context, owner memory.Owner, most int) (bool, error)
	// BuildNear makes ready what Nearest looks at. It may be broken off, and goes on where
	// it was; busy says that somebody else is at it.
	BuildNear(ctx context.Context, owner memory.Owner, model string) (busy bool, err error)
	// Nearest returns what may answer a question, with the turns around it, how many
	// memories the owner has, in how many of them the question's terms are, and how many
	// have no vector. It is [memory.NotFound] until BuildNear was done.
	Nearest(ctx context.Context, owner memory.Owner, model string, s memory.Search) (items []memory.Item, memories int, terms map[string]int, bare int, err error)
}

// HugeOptions are the settings of [Huge].
type HugeOptions struct {
	Model   string // whose vectors are searched
	Most    int64  // bytes that an owner's resident index may take
	Log     *slog.Logger
	Lacking func(owner memory.Owner, memories int) // as [index.Options] has it; nil: nobody is told
}

// Huge is a [memory.Searcher] in front of the resident index: owners who have very much
// are searched by the database, everybody else by the index. What the database finds is
// measured as the index does, by the statistics of all that the owner has, so that ranking
// need not know. Until the database is ready for an owner, the index is asked.
type Huge struct {
	Resident
	server Server
	opts   HugeOptions

	ctx  context.Context // of what is built beside searches
	stop context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex // guards sizes and what they point to
	sizes map[memory.Owner]*size
}

// size is what is known of an owner.
type size struct {
	left     int // searches until it is asked again
	huge     bool
	building bool
	ready    bool // the database answered
	bare     int
}

// NewHuge returns a searcher. Close releases it, not the index.
func NewHuge(resident Resident, server Server, opts HugeOptions) *Huge {
	ctx, stop := context.WithCancel(context.Background())
	return &Huge{Resident: resident, server: server, opts: opts, ctx: ctx, stop: stop, sizes: map[memory.Owner]*size{}}
}

// Close breaks off what is built, which goes on at the next start. Closing twice, or nil,
// is a no-op.
func (h *Huge) Close() error {
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
func (h *Huge) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
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
		cands, err := h.ask(ctx, owner, one)
		if errors.Is(err, memory.NotFound) {
			h.build(owner)
			rest.Scopes = append(rest.Scopes, scopes...)
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, cands)
	}
	if len(rest.Scopes) > 0 {
		cands, err := h.Resident.Search(ctx, rest)
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

// Warm lets the index read what was written. What the database has it reads by itself.
func (h *Huge) Warm(owner memory.Owner) {
	h.mu.Lock()
	z := h.sizes[owner]
	ready := z != nil && z.ready
	h.mu.Unlock()
	if !ready {
		h.Resident.Warm(owner)
	}
}

// huge reports whether an owner's index would take too much. One that was huge stays so.
func (h *Huge) huge(ctx context.Context, owner memory.Owner) bool {
	h.mu.Lock()
	z := h.sizes[owner]
	if z == nil {
		if len(h.sizes) >= maxSizes {
			clear(h.sizes) // it is asked again
		}
		z = &size{}
		h.sizes[owner] = z
	}
	known := z.huge || z.left > 0
	if z.left--; known {
		defer h.mu.Unlock()
		return z.huge
	}
	h.mu.Unlock()
	more, err := h.server.Exceeds(ctx, owner, int(h.opts.Most/perMemory))
	if err != nil {
		return false // what is wrong the search will say
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	z.huge, z.left = more, lookAgain
	return more
}

// ask has the database find candidates, and measures them.
func (h *Huge) ask(ctx context.Context, owner memory.Owner, s memory.Search) ([]memory.Candidate, error) {
	items, memories, terms, bare, err := h.server.Nearest(ctx, owner, h.opts.Model, s)
	if err != nil {
		return nil, err
	}
	h.answered(owner, bare)
	found := index.Build(items)
	found.Within(index.Whole{Memories: memories, Terms: terms})
	return found.Search(ctx, s)
}

// answered notes that the database did, and drops what the index has.
func (h *Huge) answered(owner memory.Owner, bare int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	z := h.sizes[owner]
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
			if err := h.Drop(owner); err != nil {
				h.opts.Log.Warn("the index of an owner whom the database searches was not dropped", "owner", owner, "err", err)
			}
		}
		if lacks && h.opts.Lacking != nil {
			h.opts.Lacking(owner, bare)
		}
	})
}

// build makes the database ready for an owner, beside searches.
func (h *Huge) build(owner memory.Owner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	z := h.sizes[owner]
	if z == nil || z.building || h.ctx.Err() != nil {
		return
	}
	z.building = true
	h.work.Go(func() {
		h.opts.Log.Info("the database is made ready to search for an owner who has very much", "owner", owner)
		busy, err := h.server.BuildNear(h.ctx, owner, h.opts.Model)
		h.mu.Lock()
		z.building = false
		h.mu.Unlock()
		switch {
		case h.ctx.Err() != nil:
		case err != nil:
			h.opts.Log.Warn("the database was not made ready to search; the next search tries again", "owner", owner, "err", err)
		case !busy:
			h.opts.Log.Info("the database searches for an owner from here on", "owner", owner)
		}
	})
}
