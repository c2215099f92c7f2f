package upkeep

import (
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/lessons"
)

// Keeper removes what expired, faded or is too much.
type Keeper struct {
	*core.Core
	Curate  *curate.Curator
	Lessons *lessons.Learner
}
