package erase

import (
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/engine/traces"
)

// Eraser erases and closes whole users.
type Eraser struct {
	*core.Core
	Traces *traces.Keeper
	Share  *share.Sharer
}
