package files

import (
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/retrieve"
)

// Files takes edits of a vault's files back into memory and serves the files of models.
type Files struct {
	*core.Core
	Chats    *chats.Chats
	Curate   *curate.Curator
	Compare  *compare.Comparer
	Retrieve *retrieve.Retriever
}
