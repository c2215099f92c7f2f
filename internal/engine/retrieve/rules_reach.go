package retrieve

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/memory"
)

const (
	// fewInConversation is how many memories of its own make a conversation stand
	// alone. mostNear is how many of its newest are searched, and how many of the user's
	// newest join where there are fewer (design 2).
	FewInConversation = 50
	MostNear          = 200
)

// searchConversation searches the newest of what the asking conversation said and taught,
// with the user's newest memories while that is little. The global pool, where it joins
// in, is searched as ever.
func (r *Recalling) searchConversation(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	var found []memory.Candidate
	pool := s
	pool.Scopes = nil
	for _, scope := range s.Scopes {
		if scope.Owner != r.Q.Scope.Owner {
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
	more, err := r.E.Searcher.Search(ctx, pool)
	return append(found, more...), err
}

// searchNear searches the newest of the conversation, and of everything while those are few.
func (r *Recalling) searchNear(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	s.Only = map[string]bool{}
	own, err := r.newest(ctx, memory.Query{Kinds: s.Kinds, Conversation: r.Q.In}, s.Only)
	if err == nil && own < FewInConversation {
		_, err = r.newest(ctx, memory.Query{Kinds: s.Kinds}, s.Only)
	}
	if err != nil || len(s.Only) == 0 {
		return nil, err
	}
	return r.E.Searcher.Search(ctx, s)
}

// newest adds the ids of the newest memories that a query selects, of any kind where it names
// none, and returns how many they are.
func (r *Recalling) newest(ctx context.Context, q memory.Query, ids map[string]bool) (n int, err error) {
	q.Limit = MostNear
	if len(q.Kinds) == 0 {
		q.Kinds = []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}
	}
	page, err := r.E.Store.List(ctx, r.Q.Scope.Owner, q)
	if err != nil {
		return 0, fmt.Errorf("list what is near: %w", err)
	}
	for _, m := range page.Memories {
		if m.Visible(r.Now) {
			n, ids[m.ID()] = n+1, true
		}
	}
	return n, nil
}
