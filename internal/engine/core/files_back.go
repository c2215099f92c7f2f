package core

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

// LastChange returns the last change of a thing, the zero change if there is none.
func (e *Core) LastChange(ctx context.Context, owner memory.Owner, target string) (memory.Change, error) {
	page, err := e.Store.Changes(ctx, owner, memory.ChangeQuery{Target: target, Limit: 1})
	if err != nil || len(page.Changes) == 0 {
		return memory.Change{}, err
	}
	return page.Changes[0], nil
}
