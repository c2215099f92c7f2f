package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// eraseTraces removes all traces of an owner, those that wait as well, and returns how
// many were written.
func (e *Engine) eraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	e.tracing.Lock()
	defer e.tracing.Unlock()
	e.traces.forget(ctx, func(t memory.Trace) bool { return t.Owner == owner })
	n, err := e.eraser().EraseTraces(ctx, owner)
	if err != nil {
		return n, fmt.Errorf("erase traces: %w", err)
	}
	return n, nil
}

// eraseReaders removes the traces of those who were shown facts of a home by a pool or
// with everybody: nothing says who they are but the traces. It returns how many were
// written. What another server is about to write is looked for once more by a job.
func (e *Engine) eraseReaders(ctx context.Context, home memory.Owner, facts []string) (int, error) {
	if len(facts) == 0 {
		return 0, nil
	}
	e.tracing.Lock()
	defer e.tracing.Unlock()
	e.traces.forget(ctx, func(t memory.Trace) bool {
		return t.Owner.Namespace() == home.Namespace() && slices.ContainsFunc(t.Hits, func(h memory.TraceHit) bool {
			return h.Content != "" && slices.Contains(facts, h.ID)
		})
	})
	n, err := e.eraser().EraseTracesOf(ctx, home.Namespace(), facts...)
	if err != nil {
		return n, fmt.Errorf("erase traces of who was shown it: %w", err)
	}
	return n, nil
}

// seenByMany reports whether one of those whom a fact is or was shared with is read by
// others.
func seenByMany(ever []memory.Owner) bool {
	return slices.ContainsFunc(ever, func(o memory.Owner) bool { return o.Kind() != memory.UserKind })
}

// eraser is the store, which stands behind the gate. Where what is behind that cannot
// erase it says so.
func (e *Engine) eraser() memory.Eraser { return e.Store.(memory.Eraser) }
