package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

var _ memory.Looker = (*Store)(nil)

// ReadBatch implements [memory.BatchReader].
func (s *Store) Look(ctx context.Context, owner memory.Owner, l memory.Look) (memory.Seen, error) {
	if s.reads.into == nil || slices.ContainsFunc(l.Queries, func(q memory.Query) bool { return !inOne(q) }) {
		return memory.LookAt(ctx, inTurn{s}, owner, l)
	}
	var version int64
	var byID map[string][]memory.Memory
	found := make([][]memory.Memory, len(l.Queries))
	err := s.reads.together(ctx, owner, func(v *view) ([]ask, error) {
		version, byID = 0, map[string][]memory.Memory{}
		all := []ask{v.asking(`SELECT version FROM owners WHERE owner = ?`, nil, func(row scanner) error { return row.Scan(&version) })}
		all = append(all, v.byIDs(l.IDs, byID, turns, facts, links, summaries)...)
		for i, q := range l.Queries {
			found[i] = nil
			some, err := v.listing(sourcesOf(q), q, shelf.PageSize(q.Limit)+1, &found[i])
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	})
	if err != nil {
		return memory.Seen{}, fmt.Errorf("read memories: %w", err)
	}
	seen := memory.Seen{Version: version}
	for _, id := range l.IDs {
		seen.Memories = append(seen.Memories, byID[id]...)
	}
	for i, q := range l.Queries {
		one, err := page(found[i], q)
		if err != nil {
			return memory.Seen{}, err
		}
		seen.Pages = append(seen.Pages, one)
	}
	return seen, nil
}

// sequentialStore hides ReadBatch, so that [memory.ReadBatch] runs one query after another, mostly
// from the cache.
type inTurn struct{ memory.Store }
