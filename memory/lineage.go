package memory

import (
	"cmp"
	"context"
	"slices"
)

// Lineage is implemented by a [Store] that finds replacements of facts without reading the journal.
type Lineage interface {
	// SupersededBy returns, for each turn, one id for each superseded or ended fact learned from the turn,
	// newest fact first: the id of the fact's replacement, or the fact's own id if it has no replacement.
	// Turns without such facts are absent from the map.
	SupersededBy(ctx context.Context, owner Owner, turnIDs []string) (map[string][]string, error)

	// Predecessors returns, for each fact, the superseded facts that it replaced, latest replacement first
	// (UpdatedAt, then ID, both descending). Facts without predecessors are absent from the map.
	Predecessors(ctx context.Context, owner Owner, factIDs []string) (map[string][]Fact, error)
}

// SupersededBy works like [Lineage.SupersededBy] with any store. Without a [Lineage] it lists the facts of
// each turn.
func SupersededBy(ctx context.Context, store Store, owner Owner, turnIDs []string) (map[string][]string, error) {
	if s, ok := store.(Lineage); ok {
		return s.SupersededBy(ctx, owner, turnIDs)
	}
	replacements := map[string][]string{}
	for _, turn := range turnIDs {
		page, err := store.List(ctx, owner, Query{Turn: turn, Statuses: []Status{Superseded, Retired}})
		if err != nil {
			return nil, err
		}
		for _, m := range page.Memories {
			if m.Fact.Status == Superseded {
				replacements[turn] = append(replacements[turn], m.Fact.SupersededBy)
			} else if !m.Fact.ValidTo.IsZero() {
				replacements[turn] = append(replacements[turn], m.Fact.ID)
			}
		}
	}
	return replacements, nil
}

// Predecessors works like [Lineage.Predecessors] with any store. Without a [Lineage] it reads each fact's
// journal.
func Predecessors(ctx context.Context, store Store, owner Owner, factIDs []string) (map[string][]Fact, error) {
	if s, ok := store.(Lineage); ok {
		return s.Predecessors(ctx, owner, factIDs)
	}
	predecessors := map[string][]Fact{}
	for _, id := range factIDs {
		ids, err := predecessorIDs(ctx, store, owner, id)
		if err != nil {
			return nil, err
		}
		memories, err := store.Get(ctx, owner, ids...)
		if err != nil {
			return nil, err
		}
		for _, m := range memories {
			if f := m.Fact; f != nil && m.Link == nil && f.Status == Superseded && f.SupersededBy == id {
				predecessors[id] = append(predecessors[id], *f)
			}
		}
		slices.SortFunc(predecessors[id], func(a, b Fact) int {
			return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
		})
	}
	return predecessors, nil
}

// predecessorIDs returns the ids of the facts that a fact replaced, with any status.
func predecessorIDs(ctx context.Context, store Store, owner Owner, id string) ([]string, error) {
	var ids []string
	for c, err := range AllChanges(ctx, store.Changes, owner, ChangeQuery{Fact: id}) {
		if err != nil {
			return nil, err
		}
		if f := c.After.Fact; f != nil && f.SupersededBy == id && !slices.Contains(ids, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	return ids, nil
}
