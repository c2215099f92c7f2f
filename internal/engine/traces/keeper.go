// Package traces keeps what recalls and answers were made of (design 5's traces): in memory
// until they are written to the store, which happens while nobody waits.
package traces

import (
	"sync"

	"github.com/loci-memory/loci/internal/engine/core"
)

// Keeper keeps the traces of recalls and answers until they are written, and erases them.
type Keeper struct {
	*core.Core

	Ring    *TraceRing
	tracing sync.Mutex // held while waiting traces are written, and while traces are erased
}

// New returns a keeper without traces.
func New(c *core.Core) *Keeper { return &Keeper{Core: c, Ring: NewTraceRing()} }
