package inmem

import (
	"context"
	"maps"
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
			if t.At.Before(draft.erased) || s.showsErased(t) {
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

// showsErased reports whether a trace has the words of others' facts, or of links to facts,
// that are erased. s.mu is held.
func (s *Store) showsErased(t memory.Trace) bool {
	for owner, facts := range t.ShownOf() {
		of := s.shelf(owner)
		for _, id := range facts {
			for _, target := range []string{"fact:" + id, "link:" + id} {
				if i := of.present(target); !i.IsZero() && i.Target() == target && i.Status() == memory.Retired && words(i) == "" {
					return true
				}
			}
		}
	}
	return false
}

func (s *shelf) evictTraces(keep int) {
	all := s.newestTraces()
	for _, t := range all[min(max(keep, 0), len(all)):] {
		delete(s.traces, t.ID)
	}
}

func (s *shelf) newestTraces() []memory.Trace {
	return slices.SortedFunc(maps.Values(s.traces), func(a, b memory.Trace) int {
		return place{a.At, a.ID}.compare(place{b.At, b.ID})
	})
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

// Traces returns those that match.
func (s *Store) Traces(ctx context.Context, owner memory.Owner, q memory.TraceQuery) ([]memory.Trace, error) {
	var out []memory.Trace
	err := s.read(ctx, owner, func(sh *shelf) error {
		for _, t := range sh.newestTraces() {
			if q.Matches(t) {
				out = append(out, copyTrace(t))
			}
		}
		var err error
		out, _, err = cut(out, q.Limit, "", func(t memory.Trace) place { return place{t.At, t.ID} })
		return err
	})
	return out, err
}
