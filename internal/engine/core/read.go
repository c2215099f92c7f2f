package core

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

// Get returns one memory, whatever its status, or NotFound.
func (e *Core) Get(ctx context.Context, owner memory.Owner, id string) (memory.Memory, error) {
	found, err := e.Store.Get(ctx, owner, id)
	if err != nil {
		return memory.Memory{}, err
	}
	if len(found) == 0 {
		return memory.Memory{}, memory.Errorf(memory.NotFound, "there is no memory %q", id)
	}
	return found[0], nil
}

// Fact returns one of the owner's own facts.
func (e *Core) Fact(ctx context.Context, owner memory.Owner, id string) (memory.Fact, error) {
	m, err := e.Get(ctx, owner, id)
	switch {
	case err != nil:
		return memory.Fact{}, err
	case m.Link != nil:
		return memory.Fact{}, memory.Errorf(memory.Forbidden, "%s belongs to %s and is changed there", id, m.Fact.Scope.Owner)
	case m.Fact == nil:
		return memory.Fact{}, memory.Errorf(memory.Invalid, "%s is a %s; what was said is not edited", id, m.Kind())
	}
	return *m.Fact, nil
}

// List returns a page of an owner's memory, newest first.
func (e *Core) List(ctx context.Context, owner memory.Owner, q memory.Query) (memory.Page, error) {
	return e.Store.List(ctx, owner, q)
}

// History returns a memory's changes, newest first, or NotFound.
func (e *Core) History(ctx context.Context, owner memory.Owner, id, cursor string) (memory.ChangePage, error) {
	if _, err := e.Get(ctx, owner, id); err != nil {
		return memory.ChangePage{}, err
	}
	return e.Store.Changes(ctx, owner, memory.ChangeQuery{Fact: id, Cursor: cursor})
}

// Changes returns the journal, newest first.
func (e *Core) Changes(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) (memory.ChangePage, error) {
	return e.Store.Changes(ctx, owner, q)
}

// Stats says how much an owner has.
func (e *Core) Stats(ctx context.Context, owner memory.Owner) (memory.Counts, error) {
	return e.Store.Counts(ctx, owner)
}
