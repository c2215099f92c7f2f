// Package compare finds the facts that contradict each other, and admits writes that may do so
// one at a time.
package compare

import (
	"context"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// Comparer finds the facts that contradict others, and admits one such write at a time.
type Comparer struct {
	*core.Core

	deciding *core.KeyedMutex
	instead  recent.Map[string, string] // id of a pending fact to that of the one it would replace, "" for none
}

// New returns a comparer.
func New(c *core.Core) *Comparer { return &Comparer{Core: c, deciding: core.NewKeyedMutex()} }

// Deciding waits until nobody else in this process compares what they write with the owner's
// facts, so that of two writes that contradict each other the second is compared with the first;
// leave must be called. A learner, or another process, may still come in between: see
// [Comparer.PlannedOn].
func (e *Comparer) Deciding(ctx context.Context, owner memory.Owner) (leave func(), err error) {
	return e.deciding.Enter(ctx, owner, "")
}

// Adding waits until nobody is [Comparer.Deciding]. Facts that contradict none go side by side: the
// store puts them into one commit. leave must be called.
func (e *Comparer) Adding(ctx context.Context, f memory.Fact) (leave func(), err error) {
	if mayContradict(f) {
		return e.Deciding(ctx, f.Scope.Owner)
	}
	return e.deciding.Share(ctx, f.Scope.Owner, "")
}
