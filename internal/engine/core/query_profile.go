package core

import (
	"context"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Entry returns one of [Engine.Entries], or [memory.NotFound].
func (e *Core) Entry(ctx context.Context, owner memory.Owner, key string) (memory.ProfileEntry, error) {
	if err := NotOwn(key); err != nil {
		return memory.ProfileEntry{}, err
	}
	return e.ReadEntry(ctx, owner, strings.TrimSpace(key))
}

// NotOwn refuses the keys of Loci's own entries, which have verbs of their own.
func NotOwn(key string) error {
	if strings.HasPrefix(strings.TrimSpace(key), OwnKeys) {
		return memory.Errorf(memory.Invalid, "key: %q is Loci's own; those begin with %s", key, OwnKeys)
	}
	return nil
}
