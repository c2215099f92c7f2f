package index

import (
	"context"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// Snapshot is a searchable index of a fixed list of items, for searches in the past and measurements.
type Snapshot struct {
	owners []memory.Owner
	shards []*shard
}

var _ memory.Searcher = (*Snapshot)(nil)

// Build returns an index of items. A later item replaces an earlier item with the same id.
func Build(items []memory.IndexItem) *Snapshot {
	byOwner := map[memory.Owner]*shard{}
	snap := &Snapshot{}
	for _, item := range items {
		owner := item.Memory.Scope().Owner
		if byOwner[owner] == nil {
			byOwner[owner] = newShard()
			snap.owners = append(snap.owners, owner)
		}
		byOwner[owner].apply(item)
	}
	slices.Sort(snap.owners)
	for _, owner := range snap.owners {
		snap.shards = append(snap.shards, byOwner[owner])
	}
	return snap
}

// Search is like [Index.Search], but ignores s.At: the caller passed items of that time to [Build].
func (x *Snapshot) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	var shards []*shard
	for i, owner := range x.owners {
		if slices.ContainsFunc(s.Scopes, func(scope memory.Scope) bool { return scope.Owner == owner }) {
			shards = append(shards, x.shards[i])
		}
	}
	if len(shards) == 0 {
		return nil, nil
	}
	return searchLocked(ctx, shards, s)
}
