package memory

import "context"

// Lineage is a [Store] that finds at once, of each of many turns, the facts that took the
// place of those that it taught: their ids, by turn, those of the newest taught first. Of a
// turn whose facts still hold, or that taught none, there is nothing.
type Lineage interface {
	SupersededBy(ctx context.Context, owner Owner, turns []string) (map[string][]string, error)
}

// SupersededBy asks any store what [Lineage] tells, turn by turn where it is none.
func SupersededBy(ctx context.Context, store Store, owner Owner, turns []string) (map[string][]string, error) {
	if s, ok := store.(Lineage); ok {
		return s.SupersededBy(ctx, owner, turns)
	}
	next := map[string][]string{}
	for _, turn := range turns {
		page, err := store.List(ctx, owner, Query{Turn: turn, Statuses: []Status{Superseded}})
		if err != nil {
			return nil, err
		}
		for _, m := range page.Memories {
			next[turn] = append(next[turn], m.Fact.SupersededBy)
		}
	}
	return next, nil
}
