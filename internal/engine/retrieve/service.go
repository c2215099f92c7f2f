package retrieve

import (
	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/traces"
)

// Retriever answers questions from memory: hits and the block for a prompt.
type Retriever struct {
	*core.Core
	Traces  *traces.Keeper
	Compare *compare.Comparer
}
