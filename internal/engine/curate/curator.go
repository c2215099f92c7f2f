// Package curate applies a person's own changes: remember, edit, review, forget, erase, undo.
package curate

import (
	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/engine/traces"
)

// Curator applies a person's own changes: remember, edit, forget, review, undo.
type Curator struct {
	*core.Core
	Compare  *compare.Comparer
	Retrieve *retrieve.Retriever
	Share    *share.Sharer
	Traces   *traces.Keeper

	FactUses FactUses
}
