// Package transfer exports memory to files, and imports memory from files.
package transfer

import (
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
)

// Transfer exports and imports memory.
type Transfer struct {
	*core.Core
	Curate *curate.Curator
}
