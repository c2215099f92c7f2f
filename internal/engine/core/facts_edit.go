package core

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

// Done returns the changes that a request with this key made when it came first.
func (e *Core) Done(ctx context.Context, owner memory.Owner, key string) ([]memory.Change, error) {
	if key == "" {
		return nil, nil
	}
	return e.AllChanges(ctx, owner, memory.ChangeQuery{Run: IdFor(owner, key)})
}

var ErrOtherRequest = memory.Errorf(memory.Conflict, "this Idempotency-Key was used for another request")
