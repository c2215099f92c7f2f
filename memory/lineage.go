package memory

import (
	"cmp"
	"context"
	"slices"
)

// Lineage is a [Store] that finds replacements without reading journals.
type Lineage interface {
	// SupersededBy returns, by turn, what ended the facts learned from it, that of the newest fact
	// first: the id of the replacement or, for a fact that ended without one, its own. Turns whose
	// facts still hold are missing.
	SupersededBy(ctx context.Context, owner Owner, turns []string) (map[string][]string, error)

	// Predecessors returns, by fact, the superseded facts that it replaced, last ended first
	// (UpdatedAt, then ID, both descending). Facts without predecessors are missing.
	Predecessors(ctx context.Context, owner Owner, facts []string) (map[string][]Fact, error)
}

// SupersededBy asks any store as [Lineage] does, turn by turn if it is none.
func SupersededBy(ctx context.Context, store Store, owner Owner, turns []string) (map[string][]string, error) {
	if s, ok := store.(Lineage); ok {
		return s.SupersededBy(ctx, owner, turns)
	}
	next := map[string][]string{}
	for _, turn := range turns {
		page, err := store.List(ctx, owner, Query{Turn: turn, Statuses: []Status{Superseded, Retired}})
		if err != nil {
			return nil, err
		}
		for _, m := range page.Memories {
			if m.Fact.Status == Superseded {
				next[turn] = append(next[turn], m.Fact.SupersededBy)
			} else if !m.Fact.ValidTo.IsZero() {
				next[turn] = append(next[turn], m.Fact.ID)
			}
		}
	}
	return next, nil
}

// Predecessors asks any store as [Lineage] does; if it is none, by the journal of each fact.
func Predecessors(ctx context.Context, store Store, owner Owner, facts []string) (map[string][]Fact, error) {
	if s, ok := store.(Lineage); ok {
		return s.Predecessors(ctx, owner, facts)
	}
	before := map[string][]Fact{}
	for _, id := range facts {
		ids, err := replacedBy(ctx, store, owner, id)
		if err != nil {
			return nil, err
		}
		found, err := store.Get(ctx, owner, ids...)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			if f := m.Fact; f != nil && m.Link == nil && f.Status == Superseded && f.SupersededBy == id {
				before[id] = append(before[id], *f)
			}
		}
		slices.SortFunc(before[id], func(a, b Fact) int {
			return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
		})
	}
	return before, nil
}

// replacedBy returns the ids of the facts that a fact replaced, whatever their status.
func replacedBy(ctx context.Context, store Store, owner Owner, id string) ([]string, error) {
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
