package curate

import (
	"context"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Free reports whether no live fact of the scope has these words, and none with
// them was refused or forgotten. Where that cannot be known they are taken.
func (e *Curator) Free(ctx context.Context, scope memory.Scope, words string) bool {
	page, err := e.Store.List(ctx, scope.Owner, memory.Query{Hash: text.Hash(words), Statuses: core.Compared})
	return err == nil && !slices.ContainsFunc(page.Memories, func(m memory.Memory) bool { return m.Fact.Scope == scope })
}
