package inmem

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// SaveTraces writes traces, except traces with text that was erased after them.
func (s *Store) SaveTraces(ctx context.Context, maxPerOwner int, traces ...memory.Trace) error {
	for _, t := range traces {
		if err := checkCall(ctx, t.Owner); err != nil {
			return err
		}
	}
	for _, t := range traces {
		err := s.write(ctx, t.Owner, func(data *ownerdata.Data) error {
			if t.At.Before(data.ErasedAt) || s.showsErasedFact(t) {
				return nil
			}
			data.Traces[t.ID] = ownerdata.CopyTrace(t)
			evictTraces(data, maxPerOwner)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Trace returns a trace.
func (s *Store) Trace(ctx context.Context, owner memory.Owner, id string) (memory.Trace, error) {
	var trace memory.Trace
	err := s.read(ctx, owner, func(data *ownerdata.Data) error {
		t, ok := data.Traces[id]
		if !ok {
			return memory.Errorf(memory.NotFound, "there is no trace %s", id)
		}
		trace = ownerdata.CopyTrace(t)
		return nil
	})
	return trace, err
}

// Traces returns the traces that match q.
func (s *Store) Traces(ctx context.Context, owner memory.Owner, q memory.TraceQuery) ([]memory.Trace, error) {
	var out []memory.Trace
	err := s.read(ctx, owner, func(data *ownerdata.Data) error {
		for _, t := range newestTraces(data) {
			if q.Matches(t) {
				out = append(out, ownerdata.CopyTrace(t))
			}
		}
		var err error
		out, _, err = ownerdata.PageAfter(out, q.Limit, "", func(t memory.Trace) ownerdata.ListPosition { return ownerdata.ListPosition{At: t.At, ID: t.ID} })
		return err
	})
	return out, err
}

// showsErasedFact reports whether a trace contains text of other owners' facts, or of links, that were
// erased. The caller has locked s.mu.
func (s *Store) showsErasedFact(t memory.Trace) bool {
	for owner, facts := range t.OtherOwnersFacts() {
		if s.ownerData(owner).HasErasedFact(facts) {
			return true
		}
	}
	return false
}

func evictTraces(data *ownerdata.Data, maxPerOwner int) {
	newest := newestTraces(data)
	for _, t := range newest[min(max(maxPerOwner, 0), len(newest)):] {
		delete(data.Traces, t.ID)
	}
}

func newestTraces(data *ownerdata.Data) []memory.Trace {
	return slices.SortedFunc(maps.Values(data.Traces), func(a, b memory.Trace) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
}
