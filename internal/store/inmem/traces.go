package inmem

import (
	"context"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// SaveTraces writes traces.
func (s *Store) SaveTraces(ctx context.Context, keep int, traces ...memory.Trace) error {
	for _, t := range traces {
		if err := check(ctx, t.Owner); err != nil {
			return err
		}
	}
	for _, t := range traces {
		err := s.write(ctx, t.Owner, func(draft *shelf) error {
			if t.At.Before(draft.erased) {
				return nil
			}
			draft.traces[t.ID] = copyTrace(t)
			draft.evictTraces(keep)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *shelf) evictTraces(keep int) {
	var all []memory.Trace
	for _, t := range s.traces {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b memory.Trace) int {
		return place{a.At, a.ID}.compare(place{b.At, b.ID})
	})
	for _, t := range all[min(max(keep, 0), len(all)):] {
		delete(s.traces, t.ID)
	}
}

// Trace returns one.
func (s *Store) Trace(ctx context.Context, owner memory.Owner, id string) (memory.Trace, error) {
	var trace memory.Trace
	err := s.read(ctx, owner, func(sh *shelf) error {
		t, ok := sh.traces[id]
		if !ok {
			return memory.Errorf(memory.NotFound, "no trace %s", id)
		}
		trace = copyTrace(t)
		return nil
	})
	return trace, err
}
