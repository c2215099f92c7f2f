package shelf

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Since returns the items written after a version: see [memory.Source].
func (s *Shelf) Since(owner memory.Owner, model string, after int64) ([]memory.Item, error) {
	if after > s.Version {
		return nil, memory.Errorf(memory.Gone, "%s is at version %d, before version %d", owner, s.Version, after)
	}
	if after > 0 && after < s.Horizon {
		return nil, memory.Errorf(memory.Gone, "memories of %s at version %d were erased since", owner, after)
	}
	var items []memory.Item
	for _, m := range s.memories(time.Time{}) {
		item := memory.Item{ID: m.ID(), Version: m.Version()}
		switch {
		case item.Version <= after:
			continue
		case m.Status() == memory.Active && !(m.Turn != nil && m.Turn.Content == ""):
			item.Memory = m
			item.Vector = slices.Clone(s.Vectors[VectorKey{item.ID, model}])
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
	return items, nil
}

// VectorModels returns the models of the stored vectors: see [memory.Facts].
func (s *Shelf) VectorModels() []string {
	models := map[string]bool{}
	for key, values := range s.Vectors {
		if len(values) > 0 {
			models[key.Model] = true
		}
	}
	return slices.Sorted(maps.Keys(models))
}
