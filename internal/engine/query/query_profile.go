package query

import (
	"context"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// Entries returns the profile as a person sees it, in order of key: without Loci's own
// entries.
func (e *Querier) Entries(ctx context.Context, owner memory.Owner) ([]memory.ProfileEntry, error) {
	all, err := e.Profile(ctx, owner)
	return core.Told(all), err
}

// PutEntry writes an entry, as [Engine.SetProfile] does, and returns it.
func (e *Querier) PutEntry(ctx context.Context, owner memory.Owner, key, value string, author memory.Author) (memory.ProfileEntry, error) {
	ctx = memory.ForWrite(ctx)
	if err := core.NotOwn(key); err != nil {
		return memory.ProfileEntry{}, err
	}
	if _, err := e.SetProfile(ctx, owner, key, value, author); err != nil {
		return memory.ProfileEntry{}, err
	}
	return e.Entry(ctx, owner, key)
}

// DropEntry takes an entry out, as [Engine.DropProfile] does.
func (e *Querier) DropEntry(ctx context.Context, owner memory.Owner, key string, author memory.Author) (memory.Receipt, error) {
	if err := core.NotOwn(key); err != nil {
		return memory.Receipt{}, err
	}
	return e.DropProfile(ctx, owner, strings.TrimSpace(key), author)
}
