package inmem

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Owners returns who was ever written: see [memory.Facts].
func (s *Store) Owners(ctx context.Context) ([]memory.Owner, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var owners []memory.Owner
	for owner, sh := range s.shelves {
		if sh.version > 0 {
			owners = append(owners, owner)
		}
	}
	slices.Sort(owners)
	return owners, nil
}

// Versions returns each owner's version.
func (s *Store) Versions(ctx context.Context, owners []memory.Owner) ([]int64, error) {
	for _, o := range owners {
		if err := check(ctx, o); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	versions := make([]int64, len(owners))
	for i, o := range owners {
		versions[i] = s.shelf(o).version
	}
	return versions, nil
}

// Since yields what was written after a version.
func (s *Store) Since(ctx context.Context, owner memory.Owner, model string, after int64, yield func(memory.Item) error) (int64, error) {
	var items []memory.Item
	var version int64
	err := s.read(ctx, owner, func(sh *shelf) error {
		version = sh.version
		if after > version {
			return memory.Errorf(memory.Gone, "%s is at version %d, not yet at %d", owner, version, after)
		}
		if after > 0 && after < sh.horizon {
			return memory.Errorf(memory.Gone, "what %s had at version %d was erased", owner, after)
		}
		items = sh.since(model, after)
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, item := range items {
		if err := yield(item); err != nil {
			return 0, err
		}
	}
	return version, nil
}

func (s *shelf) since(model string, after int64) []memory.Item {
	var items []memory.Item
	for _, m := range s.memories(time.Time{}) {
		item := memory.Item{ID: m.ID(), Version: m.Version()}
		switch {
		case item.Version <= after:
			continue
		case m.Status() == memory.Active && !(m.Turn != nil && m.Turn.Content == ""):
			item.Memory = m
			item.Vector = slices.Clone(s.vectors[vectorKey{item.ID, model}])
		case after == 0:
			continue
		default:
			item.Removed = true
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b memory.Item) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.ID, b.ID))
	})
	return items
}
