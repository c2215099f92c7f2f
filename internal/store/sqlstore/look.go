package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

var _ memory.BatchReader = (*Store)(nil)

// ReadBatch implements [memory.BatchReader].
func (s *Store) ReadBatch(ctx context.Context, owner memory.Owner, l memory.ReadSet) (memory.ReadResults, error) {
	if s.reader.translator == nil || slices.ContainsFunc(l.Queries, func(q memory.Query) bool { return !isOneBatch(q) }) {
		return memory.ReadBatch(ctx, sequentialStore{s}, owner, l)
	}
	var version int64
	var byID map[string][]memory.Memory
	found := make([][]memory.Memory, len(l.Queries))
	err := s.reader.readBatch(ctx, owner, func(v *view) ([]statement, error) {
		version, byID = 0, map[string][]memory.Memory{}
		all := []statement{v.ownerStatement(`SELECT version FROM owners WHERE owner = ?`, nil, func(row scanner) error { return row.Scan(&version) })}
		all = append(all, v.statementsByID(l.IDs, byID, turns, facts, links, summaries)...)
		for i, q := range l.Queries {
			found[i] = nil
			some, err := v.listStatements(tablesFor(q), q, shelf.PageSize(q.Limit)+1, &found[i])
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	})
	if err != nil {
		return memory.ReadResults{}, fmt.Errorf("read memories: %w", err)
	}
	seen := memory.ReadResults{Version: version}
	for _, id := range l.IDs {
		seen.Memories = append(seen.Memories, byID[id]...)
	}
	for i, q := range l.Queries {
		one, err := newPage(found[i], q)
		if err != nil {
			return memory.ReadResults{}, err
		}
		seen.Pages = append(seen.Pages, one)
	}
	return seen, nil
}

// sequentialStore hides the store's ReadBatch, so that [memory.ReadBatch] runs one query after another,
// which the cache mostly answers.
type sequentialStore struct{ memory.Store }
