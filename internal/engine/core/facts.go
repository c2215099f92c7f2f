package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// Bounds of [TopFacts]: owners, cached facts per owner, facts read per owner, and facts per page.
const (
	maxTopFactOwners = 128
	maxTopFacts      = 512
	maxFactsRead     = 10_000
	factPageSize     = 500
)

// TopFacts caches the most important facts of each owner, for prompts without a search. It is
// updated when the owner's version changes. The zero value is not usable.
type TopFacts struct {
	byOwner *recent.Map[memory.Owner, *ownerTopFacts]
}

// ownerTopFacts are the cached facts of one owner.
type ownerTopFacts struct {
	mu      sync.Mutex        // guards the following fields; held while facts are read
	loaded  bool              // true once facts were read
	version int64             // owner's version of the cached facts
	facts   []recall.CoreFact // the slice is replaced, never modified
	hasMore bool              // the owner has less important facts that are not cached
}

func newTopFacts() TopFacts {
	return TopFacts{recent.New[memory.Owner, *ownerTopFacts](maxTopFactOwners)}
}

// Forget drops the cached facts of an owner or, for "", of all owners, since an erased fact may be shared.
func (r TopFacts) Forget(owner memory.Owner) {
	r.byOwner.DeleteFunc(func(o memory.Owner, _ *ownerTopFacts) bool { return owner == "" || o == owner })
}

// Get returns an owner's most important visible facts, own and shared, at most 768. Callers must not
// modify them.
func (r TopFacts) Get(ctx context.Context, e *Core, owner memory.Owner, now time.Time) ([]recall.CoreFact, error) {
	var cached *ownerTopFacts
	r.byOwner.Update(owner, func(previous *ownerTopFacts, found bool) (*ownerTopFacts, bool) {
		if cached = previous; !found {
			cached = &ownerTopFacts{}
		}
		return cached, !found
	})
	cached.mu.Lock()
	defer cached.mu.Unlock()
	version, err := e.Version(ctx, owner)
	if err != nil || cached.loaded && version == cached.version {
		return cached.facts, err
	}
	if cached.loaded {
		err = cached.applyChanges(ctx, e, owner, now)
	}
	if !cached.loaded || errors.Is(err, memory.Gone) || cached.hasMore && len(cached.facts) < maxTopFacts/2 {
		err = cached.readAll(ctx, e, owner, version, now)
	}
	return cached.facts, err
}

// readAll reads an owner's newest and pinned facts, at this version or a later one.
func (f *ownerTopFacts) readAll(ctx context.Context, e *Core, owner memory.Owner, version int64, now time.Time) error {
	pinned, err := e.Store.List(ctx, owner, memory.Query{Pinned: true})
	if err != nil {
		return err
	}
	facts, next := pinned.Memories, ""
	for len(facts) < maxFactsRead {
		page, err := e.Store.List(ctx, owner, memory.Query{Limit: factPageSize, Cursor: next})
		if err != nil {
			return err
		}
		facts = append(facts, page.Memories...)
		if next = page.Next; next == "" {
			break
		}
	}
	slices.SortFunc(facts, func(a, b memory.Memory) int { return cmp.Compare(a.ID(), b.ID()) })
	facts = slices.CompactFunc(facts, func(a, b memory.Memory) bool { return a.ID() == b.ID() })
	f.loaded, f.version, f.hasMore = true, version, next != ""
	f.setFacts(facts, now)
	return nil
}

// applyChanges reads the changes since the cached version.
func (f *ownerTopFacts) applyChanges(ctx context.Context, e *Core, owner memory.Owner, now time.Time) error {
	written := map[string]memory.Memory{}
	version, err := e.Store.Since(ctx, owner, "", f.version, func(item memory.IndexItem) error {
		written[item.ID] = item.Memory
		return nil
	})
	if err != nil {
		return err
	}
	f.version = version
	facts := make([]memory.Memory, 0, len(f.facts)+len(written))
	for _, previous := range f.facts {
		if _, changed := written[previous.ID()]; !changed {
			facts = append(facts, previous.Memory)
		}
	}
	for _, m := range written {
		if m.Fact != nil && m.Visible(now) {
			facts = append(facts, m)
		}
	}
	f.setFacts(facts, now)
	return nil
}

// setFacts caches the facts. Above 768 facts, it sorts them and drops all but the best 512. For a fact that
// is already cached it retains the cached [recall.CoreFact].
func (f *ownerTopFacts) setFacts(facts []memory.Memory, now time.Time) {
	if len(facts) > maxTopFacts*3/2 {
		f.hasMore = true
		best := recall.HitsByImportance(facts, now)
		facts = facts[:0]
		for _, h := range best[:maxTopFacts] {
			facts = append(facts, h.Memory)
		}
	}
	cached := make(map[*memory.Fact]recall.CoreFact, len(f.facts))
	for _, previous := range f.facts {
		cached[previous.Fact] = previous
	}
	f.facts = make([]recall.CoreFact, len(facts))
	for i, m := range facts {
		var isCached bool
		if f.facts[i], isCached = cached[m.Fact]; !isCached {
			f.facts[i] = recall.NewCoreFact(m)
		}
	}
}
