package ownerdata

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Since returns the items written after a version: see [memory.IndexSource].
func (s *Data) Since(owner memory.Owner, model string, afterVersion int64) ([]memory.IndexItem, error) {
	if afterVersion > s.Version {
		return nil, memory.Errorf(memory.Gone, "%s is at version %d, before version %d", owner, s.Version, afterVersion)
	}
	if afterVersion > 0 && afterVersion < s.OldestVersion {
		return nil, memory.Errorf(memory.Gone, "memories of %s at version %d were erased since", owner, afterVersion)
	}
	var items []memory.IndexItem
	for _, m := range s.memoriesAt(time.Time{}) {
		item := memory.IndexItem{ID: m.ID(), Version: m.Version()}
		switch {
		case item.Version <= afterVersion:
			continue
		case m.Status() == memory.Active && !(m.Turn != nil && m.Turn.Content == ""):
			item.Memory = m
			item.Vector = slices.Clone(s.Vectors[VectorKey{item.ID, model}])
		case afterVersion == 0:
			continue
		default:
			item.Removed = true
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b memory.IndexItem) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.ID, b.ID))
	})
	return items, nil
}

// VectorModels returns the models of the stored vectors: see [memory.Facts].
func (s *Data) VectorModels() []string {
	models := map[string]bool{}
	for key, values := range s.Vectors {
		if len(values) > 0 {
			models[key.Model] = true
		}
	}
	return slices.Sorted(maps.Keys(models))
}
