// Package compare finds the facts that contradict each other, and admits writes that may do so
// one at a time.
package compare

import (
	"sync"

	"github.com/loci-memory/loci/internal/engine/core"
)

// Comparer finds the facts that contradict others, and admits one such write at a time.
type Comparer struct {
	*core.Core

	Admission *Admission
	instead   sync.Map // id of a pending fact to that of the one it would replace, "" for none
}

// New returns a comparer.
func New(c *core.Core) *Comparer { return &Comparer{Core: c, Admission: NewAdmission()} }
