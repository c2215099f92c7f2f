// Package compare finds facts that contradict each other, and serializes writes that may contradict each
// other.
package compare

import (
	"context"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// Comparer finds contradicting facts, and serializes writes that may contradict.
type Comparer struct {
	*core.Core

	decisionLocks *core.KeyedMutex
	replacedIDs   recent.Map[string, string] // by id of a pending fact: id of the fact to replace, "" for none
}

// New returns a comparer.
func New(c *core.Core) *Comparer { return &Comparer{Core: c, decisionLocks: core.NewKeyedMutex()} }

// LockDecisions waits until no other write in this process is being compared with the owner's facts, so that
// the later of two contradicting writes is compared with the earlier. The caller must call unlock. Learning
// and other processes do not lock: see [Comparer.RunBaseFor].
func (e *Comparer) LockDecisions(ctx context.Context, owner memory.Owner) (unlock func(), err error) {
	return e.decisionLocks.Lock(ctx, owner, "")
}

// LockAddition locks the addition of f, like [Comparer.LockDecisions] if f may contradict other facts. Other
// additions run concurrently, so that the store combines their commits. The caller must call unlock.
func (e *Comparer) LockAddition(ctx context.Context, f memory.Fact) (unlock func(), err error) {
	if mayContradict(f) {
		return e.LockDecisions(ctx, f.Scope.Owner)
	}
	return e.decisionLocks.LockShared(ctx, f.Scope.Owner, "")
}
