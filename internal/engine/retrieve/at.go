package retrieve

import (
	"context"
	"fmt"

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
	q := memory.Query{Kinds: []memory.Kind{m.Kind()}, Statuses: core.EveryStatus, At: at}
	if !at.AsOf.IsZero() {
		if m, err = e.then(ctx, owner, m, at); err != nil {
			return memory.Memory{}, err
		}
	}
	if m.Kind() == "" || !q.Matches(m) {
		return memory.Memory{}, memory.Errorf(memory.NotFound, "there was no memory %q then", core.Clip(id, 60))
	}
	return m, nil
}

// then returns a memory as it was recorded by a time, the zero Memory if it was not.
func (e *Retriever) then(ctx context.Context, owner memory.Owner, m memory.Memory, at memory.At) (memory.Memory, error) {
	if m.Turn != nil {
		turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{IDs: []string{m.ID()}, Statuses: core.EveryStatus, AsOf: at.AsOf})
		if err != nil || len(turns) == 0 {
			return memory.Memory{}, err
		}
		return memory.Memory{Turn: &turns[0]}, nil
	}
	image := memory.Image{Fact: m.Fact, Summary: m.Summary}
	if m.Link != nil {
		image = memory.Image{Link: m.Link}
	}
	for c, err := range memory.AllChanges(ctx, e.Store.Changes, owner, memory.ChangeQuery{Target: image.Target()}) {
		if err != nil {
			return memory.Memory{}, fmt.Errorf("read the journal: %w", err)
		}
		if c.At.After(at.AsOf) {
			continue
		}
		if c.After.Link != nil {
			return memory.Memory{Fact: &c.After.Link.Fact, Link: c.After.Link}, nil
		}
		return memory.Memory{Fact: c.After.Fact, Summary: c.After.Summary}, nil
	}
	return memory.Memory{}, nil
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
