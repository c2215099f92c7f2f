package core

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// Contexts returns an owner's contexts, those made last first.
func (e *Core) Contexts(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.Context, error) {
	all, err := e.Store.Contexts(ctx, owner, at)
	slices.SortFunc(all, func(a, b memory.Context) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, err
}

// Context returns one, or [memory.NotFound].
func (e *Core) Context(ctx context.Context, owner memory.Owner, id string) (memory.Context, error) {
	found, err := e.Store.Contexts(ctx, owner, memory.At{}, id)
	if err != nil {
		return memory.Context{}, err
	}
	if len(found) == 0 {
		return memory.Context{}, memory.Errorf(memory.NotFound, "there is no context %q", Clip(id, 60))
	}
	return found[0], nil
}

// ContextsOf returns the contexts that are attached to a conversation, in the order in
// which they were.
func (e *Core) ContextsOf(ctx context.Context, owner memory.Owner, conversation string) ([]memory.Context, error) {
	page, err := e.Store.Conversations(ctx, owner, memory.ConversationQuery{IDs: []string{conversation}})
	if err != nil {
		return nil, fmt.Errorf("read what is attached: %w", err)
	}
	if len(page.Conversations) == 0 {
		return nil, nil
	}
	return e.ContextsNamed(ctx, owner, page.Conversations[0].Contexts)
}

// ContextsNamed returns contexts in the order of ids. Those that are not there are left
// out, and one that is named twice comes once.
func (e *Core) ContextsNamed(ctx context.Context, owner memory.Owner, ids []string) ([]memory.Context, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := e.Store.Contexts(ctx, owner, memory.At{}, ids...)
	if err != nil {
		return nil, fmt.Errorf("read contexts: %w", err)
	}
	slices.SortFunc(found, func(a, b memory.Context) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	return found, nil
}
