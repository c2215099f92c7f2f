package retrieve

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/memory"
)

// searchPast searches what there was at another time: all of it, as it was.
func (r *Recalling) searchPast(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	items, err := r.E.itemsAt(ctx, r.Q.Scope.Owner, r.Q.At)
	if err != nil {
		return nil, fmt.Errorf("read memory as it was: %w", err)
	}
	r.then = make(map[string]memory.Memory, len(items))
	for _, item := range items {
		r.then[item.ID] = item.Memory
	}
	return index.Build(items).Search(ctx, s)
}

// itemsAt reads all of an owner's memory as it was.
func (e *Retriever) itemsAt(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.Item, error) {
	q := memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}, At: at, Limit: 500}
	var items []memory.Item
	for {
		page, err := e.Store.List(ctx, owner, q)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Memories {
			if m.Turn != nil && m.Turn.Content == "" {
				continue
			}
			item := memory.Item{Memory: m, ID: m.ID()}
			if core.OfWords(e.Embedder) { // others take long; words find in the past
				vectors, err := e.TextVectors(ctx, m.ID(), m.Content())
				if err != nil {
					return nil, err
				}
				item.Vector = vectors[0].Values
			}
			items = append(items, item)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			slices.Reverse(items) // oldest first, as the store's versions are
			return items, nil
		}
	}
}
