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
	readyOwners = 128
	readyFacts  = 512
	readyFrom   = 10_000
	readyPage   = 500
)

// TopFacts caches the most important facts of each owner, for prompts without a search. It is
// updated when the owner's version changes. The zero value is not usable.
type ReadyFacts struct {
	of *recent.Map[memory.Owner, *ownersFacts]
}

// ownerTopFacts are the cached facts of one owner.
type ownersFacts struct {
	mu      sync.Mutex // guards the following fields; held while facts are read
	read    bool       // true once facts were read
	version int64
	facts   []recall.CoreFact // the slice is replaced, never modified
	more    bool              // the owner has less important facts that are not cached
}

func newReadyFacts() ReadyFacts {
	return ReadyFacts{recent.New[memory.Owner, *ownersFacts](readyOwners)}
}

// Forget drops the facts of an owner, or of all owners for "", because erased facts may be shared.
func (r ReadyFacts) Forget(owner memory.Owner) {
	r.of.DeleteFunc(func(o memory.Owner, _ *ownersFacts) bool { return owner == "" || o == owner })
}

// Get returns an owner's most important visible facts, own and shared, at most 768. Callers must not
// modify them.
func (r ReadyFacts) Of(ctx context.Context, e *Core, owner memory.Owner, now time.Time) ([]recall.CoreFact, error) {
	var of *ownersFacts
	r.of.Update(owner, func(was *ownersFacts, found bool) (*ownersFacts, bool) {
		if of = was; !found {
			of = &ownersFacts{}
		}
		return of, !found
	})
	of.mu.Lock()
	defer of.mu.Unlock()
	version, err := e.Version(ctx, owner)
	if err != nil || of.read && version == of.version {
		return of.facts, err
	}
	if of.read {
		err = of.follow(ctx, e, owner, now)
	}
	if !of.read || errors.Is(err, memory.Gone) || of.more && len(of.facts) < readyFacts/2 {
		err = of.readAll(ctx, e, owner, version, now)
	}
	return of.facts, err
}

// readAll reads an owner's newest and pinned facts, at this version or a later one.
func (f *ownersFacts) readAll(ctx context.Context, e *Core, owner memory.Owner, version int64, now time.Time) error {
	pinned, err := e.Store.List(ctx, owner, memory.Query{Pinned: true})
	if err != nil {
		return err
	}
	facts, next := pinned.Memories, ""
	for len(facts) < readyFrom {
		page, err := e.Store.List(ctx, owner, memory.Query{Limit: readyPage, Cursor: next})
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
	f.read, f.version, f.more = true, version, next != ""
	f.keep(facts, now)
	return nil
}

// applyChanges reads the changes since the cached version.
func (f *ownersFacts) follow(ctx context.Context, e *Core, owner memory.Owner, now time.Time) error {
	written := map[string]memory.Memory{}
	version, err := e.Store.Since(ctx, owner, "", f.version, func(item memory.Item) error {
		written[item.ID] = item.Memory
		return nil
	})
	if err != nil {
		return err
	}
	f.version = version
	facts := make([]memory.Memory, 0, len(f.facts)+len(written))
	for _, was := range f.facts {
		if _, is := written[was.ID()]; !is {
			facts = append(facts, was.Memory)
		}
	}
	for _, m := range written {
		if m.Fact != nil && m.Visible(now) {
			facts = append(facts, m)
		}
	}
	f.keep(facts, now)
	return nil
}

// setFacts stores the facts. Only above 768 does it sort them and drop all but the best 512. It
// reuses the values of facts that are already cached.
func (f *ownersFacts) keep(facts []memory.Memory, now time.Time) {
	if len(facts) > readyFacts*3/2 {
		f.more = true
		best := recall.ByImportance(facts, now)
		facts = facts[:0]
		for _, h := range best[:readyFacts] {
			facts = append(facts, h.Memory)
		}
	}
	loaded := make(map[*memory.Fact]recall.CoreFact, len(f.facts))
	for _, was := range f.facts {
		loaded[was.Fact] = was
	}
	f.facts = make([]recall.CoreFact, len(facts))
	for i, m := range facts {
		var is bool
		if f.facts[i], is = loaded[m.Fact]; !is {
			f.facts[i] = recall.NewCoreFact(m)
		}
	}
}
