package retrieve

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// saying is how many turns are looked at for whether they say a fact.
const saying = 30

// SayingSo returns the turns that say a fact, whether it was learned from them or
// not: what was said while learning was paused, before Loci was there, or by the
// assistant. So do summaries, even those of turns that have left recall since.
func (e *Retriever) SayingSo(ctx context.Context, f memory.Fact) ([]memory.Memory, error) {
	vectors, err := e.Embedder.Embed(ctx, memory.AsDocument, f.Content)
	if err != nil {
		return nil, fmt.Errorf("embed what is forgotten: %w", err)
	}
	found, err := e.Searcher.Search(ctx, memory.Search{
		Scopes: []memory.Scope{{Owner: f.Scope.Owner}}, Text: f.Content, Vector: vectors[0],
		Kinds: []memory.Kind{memory.KindTurn, memory.KindSummary}, Now: e.Time(), Limit: saying,
	})
	if err != nil {
		return nil, fmt.Errorf("search who said what is forgotten: %w", err)
	}
	ids := make([]string, len(found))
	for i, c := range found {
		ids[i] = c.ID
	}
	turns, err := e.Store.Get(ctx, f.Scope.Owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("read who said what is forgotten: %w", err)
	}
	return slices.DeleteFunc(turns, func(m memory.Memory) bool { return !Says(m, f) }), nil
}

// Says reports whether a turn or a summary says a fact, or wishes it forgotten.
func Says(m memory.Memory, f memory.Fact) bool {
	if t := m.Turn; t != nil && t.Role == memory.RoleUser {
		said := []learn.Said{{Turn: *t, Text: t.Content}}
		_, forget := learn.Commands(said)
		return learn.Says(said[0], f.Content) || slices.ContainsFunc(forget, func(w learn.Command) bool {
			return !w.All && len(learn.Meant(w, []memory.Memory{{Fact: &f}})) > 0
		})
	}
	return len(learn.Meant(learn.Command{What: f.Content}, []memory.Memory{m})) > 0
}
