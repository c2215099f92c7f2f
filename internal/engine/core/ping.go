package core

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

// Ping reports whether the store answers. One that has a database asks that.
func (e *Core) Ping(ctx context.Context) error { return Ping(ctx, e.Store) }

func Ping(ctx context.Context, store memory.Store) error {
	if p, ok := store.(interface{ Ping(context.Context) error }); ok {
		return p.Ping(ctx)
	}
	_, err := store.Versions(ctx, nil)
	return err
}
