package inmem

import (
	"context"
	"maps"
	"slices"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// Erase removes text permanently.
func (s *Store) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	return s.writeReceipt(ctx, owner, func(data *ownerdata.Data) (memory.Receipt, error) { return data.Erase(owner, run, ids, s.now()) })
}

// EraseTraces removes all traces of an owner.
func (s *Store) EraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	return s.eraseTraces(ctx, owner, func(memory.Trace) bool { return true })
}

// EraseTracesOf removes the traces that contain one of the facts.
func (s *Store) EraseTracesOf(ctx context.Context, namespace string, factIDs ...string) (int, error) {
	s.mu.Lock()
	owners := slices.Collect(maps.Keys(s.data))
	s.mu.Unlock()
	removed := 0
	for _, o := range owners {
		if o.Namespace() != namespace {
			continue
		}
		n, err := s.eraseTraces(ctx, o, func(t memory.Trace) bool {
			for _, shownFacts := range t.OtherOwnersFacts() {
				if slices.ContainsFunc(shownFacts, func(id string) bool { return slices.Contains(factIDs, id) }) {
					return true
				}
			}
			return false
		})
		if err != nil {
			return removed, err
		}
		removed += n
	}
	return removed, nil
}

func (s *Store) eraseTraces(ctx context.Context, owner memory.Owner, matches func(memory.Trace) bool) (removed int, err error) {
	err = s.write(ctx, owner, func(data *ownerdata.Data) error {
		before := len(data.Traces)
		maps.DeleteFunc(data.Traces, func(_ string, t memory.Trace) bool { return matches(t) })
		removed = before - len(data.Traces)
		return nil
	})
	return removed, err
}
