package share

import (
	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/internal/engine/vectors"
)

// Sharer shares facts with other owners and keeps the copies up to date.
type Sharer struct {
	*core.Core
	Compare *compare.Comparer
	Vectors *vectors.Filler
	Traces  *traces.Keeper

	shares sharings
}
