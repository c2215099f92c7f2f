package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

var _ memory.BatchReader = (*Store)(nil)

// ReadBatch implements [memory.BatchReader].
func (s *Store) ReadBatch(ctx context.Context, owner memory.Owner, readSet memory.ReadSet) (memory.ReadResults, error) {
	if s.reader.translator == nil || slices.ContainsFunc(readSet.Queries, func(q memory.Query) bool { return !isBatchable(q) }) {
		return memory.ReadBatch(ctx, sequentialStore{s}, owner, readSet)
	}
	var version int64
	var byID map[string][]memory.Memory
	matches := make([][]memory.Memory, len(readSet.Queries))
	err := s.reader.readBatch(ctx, owner, func(v *view) ([]statement, error) {
		version, byID = 0, map[string][]memory.Memory{}
		all := []statement{v.ownerStatement(`SELECT version FROM owners WHERE owner = ?`, nil, func(row scanner) error { return row.Scan(&version) })}
		all = append(all, v.statementsByID(readSet.IDs, byID, turns, facts, links, summaries)...)
		for i, q := range readSet.Queries {
			matches[i] = nil
			some, err := v.listStatements(tablesForQuery(q), q, ownerdata.PageSize(q.Limit)+1, &matches[i])
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
	results := memory.ReadResults{Version: version}
	for _, id := range readSet.IDs {
		results.Memories = append(results.Memories, byID[id]...)
	}
	for i, q := range readSet.Queries {
		page, err := newPage(matches[i], q)
		if err != nil {
			return memory.ReadResults{}, err
		}
		results.Pages = append(results.Pages, page)
	}
	return results, nil
}

// sequentialStore hides the store's ReadBatch, so that [memory.ReadBatch] runs one query after another,
// which the cache mostly answers.
type sequentialStore struct{ memory.Store }
