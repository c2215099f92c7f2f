// Package compare finds the facts that contradict each other, and admits writes that may do so
// one at a time.
package compare

import (
	"context"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// Comparer finds contradicting facts, and admits writes that may add some one at a time.
type Comparer struct {
	*core.Core

	deciding *core.KeyedMutex
	instead  recent.Map[string, string] // pending fact to the fact it would replace, "" for none
}

// New returns a comparer.
func New(c *core.Core) *Comparer { return &Comparer{Core: c, deciding: core.NewKeyedMutex()} }

// Deciding waits until no other write in this process is being compared with the owner's facts, so
// that the second of two contradicting writes is compared with the first; leave must be called.
// Learning and other processes are not excluded: see [Comparer.PlannedOn].
func (e *Comparer) Deciding(ctx context.Context, owner memory.Owner) (leave func(), err error) {
	return e.deciding.Enter(ctx, owner, "")
}

// Adding waits until nobody is [Comparer.Deciding]. Facts that contradict none are written
// concurrently: the store puts them into one commit. leave must be called.
func (e *Comparer) Adding(ctx context.Context, f memory.Fact) (leave func(), err error) {
	if mayContradict(f) {
		return e.Deciding(ctx, f.Scope.Owner)
	}
	return e.deciding.Share(ctx, f.Scope.Owner, "")
}
