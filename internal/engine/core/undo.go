package core

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

// changes returns all that a query selects of the journal, newest first.
func (e *Core) AllChanges(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) ([]memory.Change, error) {
	q.Limit = 500
	var all []memory.Change
	for {
		page, err := e.Store.Changes(ctx, owner, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Changes...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all, nil
		}
	}
}
