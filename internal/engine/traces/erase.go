package traces

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// EraseIDs erases memories in the store and in the index.
func (e *Keeper) EraseIDs(ctx context.Context, owner memory.Owner, run memory.Run, ids []string) (memory.Receipt, error) {
	receipt, err := e.Store.Erase(ctx, owner, run, ids...)
	if receipt.Changes > 0 || err != nil { // the store may have erased only a part
		e.writeLock.Lock()
		e.forgetOwner(owner)
		e.writeLock.Unlock()
	}
	// Indexes contain text too, in memory and on disk. If Drop fails, the store reports the erasure again,
	// and the index then drops the owner.
	if d, ok := e.Searcher.(interface{ Drop(memory.Owner) error }); ok {
		err = errors.Join(err, d.Drop(owner))
	}
	if err != nil {
		return memory.Receipt{}, fmt.Errorf("erase: %w", err)
	}
	return receipt, nil
}

// EraseTraces removes all traces of an owner, including unwritten traces, and returns their number.
func (e *Keeper) EraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	e.writeLock.Lock()
	defer e.writeLock.Unlock()
	n, err := e.Store.EraseTraces(ctx, owner)
	n += e.forgetOwner(owner)
	if err != nil {
		return n, fmt.Errorf("erase traces: %w", err)
	}
	return n, nil
}

// forgetOwner drops this process's blocks and unwritten traces of an owner, and returns the number of traces.
// The caller must hold e.writeLock and must have erased the text in the store, so that the text is not cached
// again.
func (e *Keeper) forgetOwner(owner memory.Owner) int {
	e.Blocks.Forget(core.BlockOwnedBy(owner))
	e.Blocks.Relayed.Forget(owner)
	e.Blocks.TopFacts.Forget("")
	return e.forgetUnwritten(func(t memory.Trace) bool { return t.Owner == owner })
}

// ForgetErased drops this process's cached memory of an owner, or of all owners for "", after an erasure by
// another process.
func (e *Keeper) ForgetErased(owner memory.Owner) {
	if owner == "" {
		e.Blocks.Forget(func(core.CachedBlock) bool { return true })
		e.Blocks.TopFacts.Forget("")
		return
	}
	e.writeLock.Lock()
	e.forgetOwner(owner)
	e.writeLock.Unlock()
	e.Blocks.Forget(func(b core.CachedBlock) bool { // blocks of readers of the owner's shared facts
		return b.HasHit(func(m memory.Memory) bool { return m.Scope().Owner == owner })
	})
}

// EraseReaderTraces erases traces and blocks of users who were shown factOwner's facts, and returns the
// number of traces. Only the traces identify these users. A job repeats the call, because another server may
// write traces later.
func (e *Keeper) EraseReaderTraces(ctx context.Context, factOwner memory.Owner, factIDs []string) (int, error) {
	if len(factIDs) == 0 {
		return 0, nil
	}
	isErased := map[string]bool{}
	for _, id := range factIDs {
		isErased[id] = true
	}
	e.writeLock.Lock()
	defer e.writeLock.Unlock()
	e.Blocks.TopFacts.Forget("")
	n, err := e.Store.EraseTracesOf(ctx, factOwner.Namespace(), factIDs...)
	e.Blocks.Forget(func(b core.CachedBlock) bool {
		return b.Owner.Namespace() == factOwner.Namespace() && b.HasHit(func(m memory.Memory) bool { return isErased[m.ID()] })
	})
	n += e.forgetUnwritten(func(t memory.Trace) bool {
		return t.Owner.Namespace() == factOwner.Namespace() && slices.ContainsFunc(t.Hits, func(h memory.TraceHit) bool {
			return h.Content != "" && isErased[h.ID]
		})
	})
	if err != nil {
		return n, fmt.Errorf("erase traces of readers: %w", err)
	}
	return n, nil
}

// HasManyReaders reports whether a pool or the global owner is among the receivers of a fact.
func HasManyReaders(receivers []memory.Owner) bool {
	return slices.ContainsFunc(receivers, func(o memory.Owner) bool { return o.Kind() != memory.UserKind })
}
