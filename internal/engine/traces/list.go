package traces

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Traces returns the stored traces and this process's unwritten traces, newest first.
func (e *Keeper) Traces(ctx context.Context, owner memory.Owner, q memory.TraceQuery) ([]memory.Trace, error) {
	unwritten := e.listUnwritten(owner, q) // read before the store, since traces move from memory to the store
	written, err := e.Store.Traces(ctx, owner, q)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	out := slices.DeleteFunc(append(unwritten, written...), func(t memory.Trace) bool {
		isDuplicate := seen[t.ID]
		seen[t.ID] = true
		return isDuplicate
	})
	slices.SortStableFunc(out, func(a, b memory.Trace) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(b.ID, a.ID))
	})
	if limit := cmp.Or(max(q.Limit, 0), 50); len(out) > limit {
		out = out[:limit]
	}
	return out, nil
}

// listUnwritten returns the matching unwritten traces, newest version first.
func (e *Keeper) listUnwritten(owner memory.Owner, q memory.TraceQuery) (out []memory.Trace) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range slices.Backward(e.unwritten) {
		if t.Owner == owner && q.Matches(*t) {
			out = append(out, *t)
		}
	}
	return out
}
