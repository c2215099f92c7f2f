package index

import (
	"cmp"
	"context"
	"slices"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/memory"
)

// standing returns the topics of which a memory says something that stands: facts alone do.
func standing(m memory.Memory) english.Topics {
	if m.Fact == nil {
		return 0
	}
	return english.StandingIn(m.Fact.Content)
}

// Standing returns the ids of an owner's facts that stand in one of the topics, those that
// changed last first, at most that many.
func (ix *Index) Standing(ctx context.Context, owner memory.Owner, topics english.Topics, most int) ([]string, error) {
	shards, err := ix.current(ctx, []memory.Owner{owner})
	if err != nil || len(shards) == 0 {
		return nil, err
	}
	sh := shards[0]
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	var found []int32
	for n := range sh.docs {
		if sh.docs[n].standing&topics != 0 && sh.kinds[n] == fact {
			found = append(found, int32(n))
		}
	}
	slices.SortFunc(found, func(a, b int32) int { return cmp.Or(cmp.Compare(sh.docs[b].at, sh.docs[a].at), cmp.Compare(b, a)) })
	var ids []string
	for _, n := range found[:min(most, len(found))] {
		ids = append(ids, sh.id(n))
	}
	return ids, nil
}
