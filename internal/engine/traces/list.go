package traces

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Traces returns what requests asked and were given, newest first: those that were
// written, by any process on the same store, and those of this one that wait to be.
func (e *Keeper) Traces(ctx context.Context, owner memory.Owner, q memory.TraceQuery) ([]memory.Trace, error) {
	fresh := e.Ring.list(ctx, owner, q) // before the store, since what waits moves there
	written, err := e.Store.Traces(ctx, owner, q)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	out := slices.DeleteFunc(append(fresh, written...), func(t memory.Trace) bool {
		again := seen[t.ID]
		seen[t.ID] = true
		return again
	})
	slices.SortStableFunc(out, func(a, b memory.Trace) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(b.ID, a.ID))
	})
	if most := cmp.Or(max(q.Limit, 0), 50); len(out) > most {
		out = out[:most]
	}
	return out, nil
}

// Settled waits for what is about to be added.
func (r *TraceRing) Settled(ctx context.Context) {
	r.mu.Lock()
	coming := slices.Collect(maps.Values(r.Coming))
	r.mu.Unlock()
	for _, done := range coming {
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
}

// list returns the traces that wait and match, the later of those with the same id
// first. What is about to be added is waited for.
func (r *TraceRing) list(ctx context.Context, owner memory.Owner, q memory.TraceQuery) []memory.Trace {
	r.Settled(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []memory.Trace
	for _, t := range slices.Backward(r.Waiting) {
		if t.Owner == owner && q.Matches(t) {
			out = append(out, t)
		}
	}
	return out
}
