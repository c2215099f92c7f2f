package retrieve

import (
	"context"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// Reads of another time, one thing or kind of thing after the other; [transfer.Transfer.Export] and
// [core.Core.List] read all of it. Profile entries and contexts have no times at which they
// are true: only when they were recorded tells.

// GetAt returns one memory as it was, or [memory.NotFound] if it was not there or, a
// fact, not true at that time.
func (e *Retriever) GetAt(ctx context.Context, owner memory.Owner, id string, at memory.At) (memory.Memory, error) {
	m, err := e.Get(ctx, owner, id)
	if err != nil || at == (memory.At{}) {
		return m, err
	}
	page, err := e.List(ctx, owner, memory.Query{Kinds: []memory.Kind{m.Kind()}, Statuses: core.EveryStatus, At: at, Begins: id})
	if err != nil {
		return memory.Memory{}, err
	}
	for _, m := range page.Memories {
		if m.ID() == id {
			return m, nil
		}
	}
	return memory.Memory{}, memory.Errorf(memory.NotFound, "there was no memory %q then", core.Clip(id, 60))
}

// EntriesAt returns the profile as [query.Querier.Entries] would have.
func (e *Retriever) EntriesAt(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	all, err := e.Store.Profile(ctx, owner, at)
	return core.Told(all), err
}

// EntryAt returns one of them, or [memory.NotFound].
func (e *Retriever) EntryAt(ctx context.Context, owner memory.Owner, key string, at memory.At) (memory.ProfileEntry, error) {
	if at == (memory.At{}) {
		return e.Entry(ctx, owner, key)
	}
	if err := core.NotOwn(key); err != nil {
		return memory.ProfileEntry{}, err
	}
	all, err := e.EntriesAt(ctx, owner, at)
	if err != nil {
		return memory.ProfileEntry{}, err
	}
	for _, p := range all {
		if p.Key == key {
			return p, nil
		}
	}
	return memory.ProfileEntry{}, memory.Errorf(memory.NotFound, "the profile had no %q then", core.Clip(key, 60))
}

// ContextAt returns a context as it was, or [memory.NotFound].
func (e *Retriever) ContextAt(ctx context.Context, owner memory.Owner, id string, at memory.At) (memory.Context, error) {
	if at == (memory.At{}) {
		return e.Context(ctx, owner, id)
	}
	found, err := e.Store.Contexts(ctx, owner, at, id)
	if err != nil {
		return memory.Context{}, err
	}
	if len(found) == 0 {
		return memory.Context{}, memory.Errorf(memory.NotFound, "there was no context %q then", core.Clip(id, 60))
	}
	return found[0], nil
}
