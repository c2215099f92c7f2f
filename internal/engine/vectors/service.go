package vectors

import (
	"github.com/loci-memory/loci/internal/engine/core"
)

// Filler embeds memories that lack a vector of today's model.
type Filler struct {
	*core.Core

	Giving vectoring
}
