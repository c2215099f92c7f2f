package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/memory"
)

const (
	// fewInConversation is how many memories of its own make a conversation stand
	// alone, and recentOfUser how many of the user's newest join one that has fewer
	// (design 2).
	fewInConversation = 50
	recentOfUser      = 200
)

// searchConversation searches what the asking conversation said and taught, with
// the user's newest memories while that is little. The global pool, where it joins
// in, is searched as ever.
func (r *recalling) searchConversation(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	var found []memory.Candidate
	pool := s
	pool.Scopes = nil
	for _, scope := range s.Scopes {
		if scope.Owner != r.q.Scope.Owner {
			pool.Scopes = append(pool.Scopes, scope)
			continue
		}
		own := s
		own.Scopes = []memory.Scope{scope}
		cands, err := r.searchNear(ctx, own)
		if err != nil {
			return nil, err
		}
		found = append(found, cands...)
	}
	if len(pool.Scopes) == 0 {
		return found, nil
	}
	more, err := r.e.Searcher.Search(ctx, pool)
	return append(found, more...), err
}

func (r *recalling) searchNear(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	own, err := r.newest(ctx, memory.Query{Conversation: r.q.In, Limit: fewInConversation})
	if err != nil {
		return nil, err
	}
	if len(own) >= fewInConversation {
		s.Conversation = r.q.In
		return r.e.Searcher.Search(ctx, s)
	}
	recent, err := r.newest(ctx, memory.Query{Limit: recentOfUser})
	if err != nil {
		return nil, err
	}
	return index.Build(r.items(ctx, own, recent)).Search(ctx, s)
}

// newest lists memories of any kind.
func (r *recalling) newest(ctx context.Context, q memory.Query) ([]memory.Memory, error) {
	q.Kinds = []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}
	page, err := r.e.Store.List(ctx, r.q.Scope.Owner, q)
	if err != nil {
		return nil, fmt.Errorf("list what is near: %w", err)
	}
	return slices.DeleteFunc(page.Memories, func(m memory.Memory) bool { return !m.Visible(r.now) }), nil
}

// items makes an index's items of memories, each once and oldest first, as the
// store's versions are. Without an embedder they are found by their words.
func (r *recalling) items(ctx context.Context, lists ...[]memory.Memory) []memory.Item {
	var items []memory.Item
	var words []string
	seen := map[string]bool{}
	for _, m := range slices.Concat(lists...) {
		if !seen[m.ID()] {
			seen[m.ID()] = true
			items = append(items, memory.Item{Memory: m, ID: m.ID(), Version: m.Version()})
		}
	}
	slices.SortStableFunc(items, func(a, b memory.Item) int {
		return cmp.Or(a.Memory.CreatedAt().Compare(b.Memory.CreatedAt()), cmp.Compare(a.Version, b.Version))
	})
	for _, item := range items {
		words = append(words, item.Memory.Content())
	}
	err := r.part(func() error {
		vectors, err := r.e.Embedder.Embed(ctx, memory.AsDocument, words...)
		for i, v := range vectors {
			items[i].Vector = v
		}
		return err
	})
	if err != nil {
		r.skip("embedder", err)
	}
	return items
}
