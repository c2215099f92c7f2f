package traces

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// EraseIDs erases what ids name, in the store and in the index.
func (e *Keeper) EraseIDs(ctx context.Context, owner memory.Owner, run memory.Run, ids []string) (memory.Receipt, error) {
	receipt, err := e.Store.Erase(ctx, owner, run, ids...)
	if receipt.Changes > 0 || err != nil { // which may be half done
		e.tracing.Lock()
		e.forgetShown(owner)
		e.tracing.Unlock()
	}
	// Indexes keep words as well, in memory and on disk. Where one could not be told,
	// the store does: what it followed so far is gone.
	if d, ok := e.Searcher.(interface{ Drop(memory.Owner) error }); ok {
		err = errors.Join(err, d.Drop(owner))
	}
	if err != nil {
		return memory.Receipt{}, fmt.Errorf("erase: %w", err)
	}
	return receipt, nil
}

// EraseTraces removes all traces of an owner, those that wait as well, and returns how
// many there were.
func (e *Keeper) EraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	e.tracing.Lock()
	defer e.tracing.Unlock()
	n, err := e.Store.EraseTraces(ctx, owner)
	n += e.forgetShown(owner)
	if err != nil {
		return n, fmt.Errorf("erase traces: %w", err)
	}
	return n, nil
}

// forgetShown lets go of what an owner was shown and this process still has: what chats
// under way are given again, and traces that wait, of which it returns how many there
// were. It is called with e.tracing held, once the store has none of the words: what is
// found in the store again is not kept here again.
func (e *Keeper) forgetShown(owner memory.Owner) int {
	e.Blocks.Forget(core.GivenTo(owner))
	e.Blocks.Passed.Forget(owner)
	e.Blocks.Ready.Forget("")
	return e.forget(func(t memory.Trace) bool { return t.Owner == owner })
}

// ErasedElsewhere lets go of what this process still has of what another erased from the
// same store: of that owner or, without one, of anybody.
func (e *Keeper) ErasedElsewhere(owner memory.Owner) {
	if owner == "" {
		e.Blocks.Forget(func(core.PinnedBlock) bool { return true })
		e.Blocks.Ready.Forget("")
		return
	}
	e.tracing.Lock()
	e.forgetShown(owner)
	e.tracing.Unlock()
	e.Blocks.Forget(func(b core.PinnedBlock) bool { // of who was shown it by a pool or with everybody
		return b.HasHit(func(m memory.Memory) bool { return m.Scope().Owner == owner })
	})
}

// EraseReaders removes what those keep who were shown facts of a home by a pool or with
// everybody: nothing says who they are but what they were given, and their traces. It
// returns how many traces there were. What another server is about to write is looked for
// once more by a job.
func (e *Keeper) EraseReaders(ctx context.Context, home memory.Owner, facts []string) (int, error) {
	if len(facts) == 0 {
		return 0, nil
	}
	gone := map[string]bool{}
	for _, id := range facts {
		gone[id] = true
	}
	e.tracing.Lock()
	defer e.tracing.Unlock()
	e.Blocks.Ready.Forget("")
	n, err := e.Store.EraseTracesOf(ctx, home.Namespace(), facts...)
	e.Blocks.Forget(func(b core.PinnedBlock) bool {
		return b.Owner.Namespace() == home.Namespace() && b.HasHit(func(m memory.Memory) bool { return gone[m.ID()] })
	})
	n += e.forget(func(t memory.Trace) bool {
		return t.Owner.Namespace() == home.Namespace() && slices.ContainsFunc(t.Hits, func(h memory.TraceHit) bool {
			return h.Content != "" && gone[h.ID]
		})
	})
	if err != nil {
		return n, fmt.Errorf("erase traces of who was shown it: %w", err)
	}
	return n, nil
}

// SeenByMany reports whether one of those whom a fact is or was shared with is read by
// others.
func SeenByMany(ever []memory.Owner) bool {
	return slices.ContainsFunc(ever, func(o memory.Owner) bool { return o.Kind() != memory.UserKind })
}
