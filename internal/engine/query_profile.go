package engine

import (
	"context"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Entries returns the profile as a person sees it, in order of key: without Loci's own
// entries.
func (e *Engine) Entries(ctx context.Context, owner memory.Owner) ([]memory.ProfileEntry, error) {
	all, err := e.Profile(ctx, owner)
	return told(all), err
}

// Entry returns one of [Engine.Entries], or [memory.NotFound].
func (e *Engine) Entry(ctx context.Context, owner memory.Owner, key string) (memory.ProfileEntry, error) {
	if err := notOwn(key); err != nil {
		return memory.ProfileEntry{}, err
	}
	return e.entry(ctx, owner, strings.TrimSpace(key))
}

// PutEntry writes an entry, as [Engine.SetProfile] does, and returns it.
func (e *Engine) PutEntry(ctx context.Context, owner memory.Owner, key, value string, author memory.Author) (memory.ProfileEntry, error) {
	ctx = memory.ForWrite(ctx)
	if err := notOwn(key); err != nil {
		return memory.ProfileEntry{}, err
	}
	if _, err := e.SetProfile(ctx, owner, key, value, author); err != nil {
		return memory.ProfileEntry{}, err
	}
	return e.Entry(ctx, owner, key)
}

// DropEntry takes an entry out, as [Engine.DropProfile] does.
func (e *Engine) DropEntry(ctx context.Context, owner memory.Owner, key string, author memory.Author) (memory.Receipt, error) {
	if err := notOwn(key); err != nil {
		return memory.Receipt{}, err
	}
	return e.DropProfile(ctx, owner, strings.TrimSpace(key), author)
}

// notOwn refuses the keys of Loci's own entries, which have verbs of their own.
func notOwn(key string) error {
	if strings.HasPrefix(strings.TrimSpace(key), ownKeys) {
		return memory.Errorf(memory.Invalid, "key: %q is Loci's own; those begin with %s", key, ownKeys)
	}
	return nil
}
