package retrieve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// The values of Reach.
const (
	ReachUser         core.Reach = "user"         // all memory of the user
	ReachConversation core.Reach = "conversation" // the chat's conversation; while short, also recent memory
)

// The values of Fallback.
const (
	FallbackNone  core.Fallback = "none"
	FallbackError core.Fallback = "error" // when the search fails
	FallbackEmpty core.Fallback = "empty" // when the search fails or finds nothing
)

// RecentFacts is the number of newest facts that replace a search result (design 1).
const Recents = 10

// QuestionText returns the question of a chat request.
func (e *Retriever) Question(c *chatapi.Chat) string {
	return c.Question(max(1, e.Opts.Recall.Messages))
}

// canSkipSearch reports whether facts may be returned without a search: no threshold is set.
func (r *Source) canSkipSearch() bool { return r.rulesApply() && r.Q.ScoreThreshold == nil }

// fewFacts returns the matching facts of a scope, newest first. complete is false if there are more than
// limit facts, or if too many other memories would have to be read.
func (r *Source) fewFacts(ctx context.Context, scope memory.Scope, q memory.Query, most int) (facts []memory.Memory, all bool, err error) {
	q.Limit = most + 1
	for looked := 0; ; {
		page, err := r.E.Store.List(ctx, scope.Owner, q)
		if err != nil {
			return nil, false, err
		}
		for _, m := range page.Memories {
			if m.Visible(r.Now) && scope.Sees(m.Scope()) {
				facts = append(facts, m)
			}
		}
		if len(facts) > most {
			return facts[:most], false, nil
		}
		looked += len(page.Memories)
		if q.Cursor = page.Next; q.Cursor == "" || looked > Listed {
			return facts, q.Cursor == "", nil
		}
		q.Limit = Listed
	}
}

// Query parses the question.
func (r *Source) Query() recall.Query {
	rules := &r.E.Opts.Recall
	return recall.NewQuery(r.Q.Text, r.Now, recall.QueryOptions{Expand: rules.Expand, EmbedWhole: r.scale().Measure != recall.Fitted})
}

// filterQuery returns the question's filters as a query.
func (r *Source) filters() memory.Query {
	return memory.Query{Category: r.Q.Category, Tag: r.Q.Tag, Conversation: r.Q.Conversation}
}

// smallSet returns all facts as hits, if the rule is on and the user has few facts.
func (r *Pipeline) smallSet(ctx context.Context) (hits []memory.Hit, holds bool) {
	most := r.E.Opts.Recall.SmallSet
	if most == 0 || !r.Q.Chat || !r.canSkipSearch() {
		return nil, false
	}
	facts, all, err := r.fewFacts(ctx, r.Q.Scope, r.filters(), most)
	if err != nil {
		r.Skip("small_set", err)
	}
	if err != nil || !all || len(facts) == 0 { // turns may exist without facts
		return nil, false
	}
	for _, h := range recall.ByImportance(facts, r.Now) {
		if !r.Q.Exclude[h.Memory.ID()] {
			hits = append(hits, memory.Hit{Memory: h.Memory, Why: memory.Why{{Name: "small_set", Value: 1}}})
		}
	}
	return hits, true
}

// extraScopes returns the other scopes that a question searches: the configured shared pools and, for a
// user with almost no facts, the global pool (design 3, 4.5).
func (r *Source) pools(ctx context.Context) (out []memory.Scope) {
	owner := r.Q.Scope.Owner
	if !r.rulesApply() || r.Q.Conversation != "" || owner.Kind() != memory.UserKind {
		return nil
	}
	reach := func(pool memory.Owner) {
		scope := r.Q.Scope
		scope.Owner = pool
		out = append(out, scope)
	}
	for _, name := range r.E.Opts.Recall.Pools {
		if pool := memory.Pool(owner.Namespace(), name); pool.Valid() {
			reach(pool)
		}
	}
	if below := r.E.Opts.Recall.Bootstrap; below > 0 {
		global := memory.Global(owner.Namespace())
		version, err := r.E.Version(ctx, global)
		few := version > 0
		if few {
			_, few, err = r.fewFacts(ctx, memory.Scope{Owner: owner}, memory.Query{}, below-1)
		}
		if err != nil {
			r.Skip("bootstrap", err)
		} else if few {
			reach(global)
		}
	}
	return out
}

// hydrateAll hydrates candidates, and marks those of pools. It skips pools that cannot be read.
func (r *Source) read(ctx context.Context, cands []memory.Candidate) ([]memory.Hit, error) {
	if !slices.ContainsFunc(cands, func(c memory.Candidate) bool { return c.Owner != r.Q.Scope.Owner }) {
		return r.hydrate(ctx, cands)
	}
	of, place := map[memory.Owner][]memory.Candidate{}, map[string]int{}
	for i, c := range cands {
		of[c.Owner] = append(of[c.Owner], c)
		place[c.ID] = i
	}
	hits, err := r.hydrate(ctx, of[r.Q.Scope.Owner])
	if err != nil {
		return nil, err
	}
	delete(of, r.Q.Scope.Owner)
	for _, pool := range slices.Sorted(maps.Keys(of)) {
		from := Source{E: r.E, Q: Question{Scope: memory.Scope{Owner: pool}}, Now: r.Now}
		others, err := from.hydrate(ctx, of[pool])
		mark := "bootstrap"
		if pool.Kind() == memory.PoolKind {
			mark = "pool"
		}
		if err != nil {
			r.Skip(mark, err)
		}
		for _, h := range others {
			h.Why = append(memory.Why{{Name: mark, Value: 1}}, h.Why...)
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b memory.Hit) int { return cmp.Compare(place[a.Memory.ID()], place[b.Memory.ID()]) })
	return hits, nil
}

// shouldUseRecent reports whether recent facts replace the search result.
func (r *Pipeline) usesRecent(ctx context.Context, err error) bool {
	fallback := r.E.Opts.Recall.Fallback
	if !r.canSkipSearch() || fallback != FallbackError && fallback != FallbackEmpty {
		return false
	}
	found := len(r.Hits) > 0 || slices.ContainsFunc(r.Dropped, func(d recall.Dropped) bool { return d.Stage != "echo" })
	return failed(ctx, err) || fallback == FallbackEmpty && r.Q.Chat && err == nil && !found
}

// recallRecent answers with the newest facts after a search that failed or found nothing.
func (r *Pipeline) recent(ctx context.Context, topK int) error {
	r.placed()
	facts, _, err := r.fewFacts(ctx, r.Q.Scope, r.filters(), Recents)
	if err != nil {
		return fmt.Errorf("read recent facts: %w", err)
	}
	var hits []memory.Hit
	for _, m := range facts {
		if r.Q.Exclude[m.ID()] {
			continue
		}
		hits = append(hits, memory.Hit{Memory: m, Why: memory.Why{{Name: "recent", Value: 1}}})
	}
	r.Found += len(hits)
	r.fitToBudget(ctx, hits, r.atLeast(topK, Recents))
	return nil
}

// minHits returns the number of hits that a rule may return: at least n, unless the request sets topK.
func (r *Pipeline) atLeast(topK, n int) int {
	if r.Q.TopK != nil {
		return topK
	}
	return max(topK, n)
}

// conversationSummary returns the asking conversation's summary, or nil if the setting is off.
func (r *Source) summary(ctx context.Context) *memory.Summary {
	if !r.E.Opts.Recall.Summary {
		return nil
	}
	r.placed()
	if r.Q.In == "" {
		return nil
	}
	all, err := r.E.Summaries(ctx, r.Q.Scope.Owner, r.Q.In)
	if err != nil {
		r.Skip("summary", err)
	}
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}

// isSearchFailure reports whether a search failed, except after a client disconnected or for an invalid
// question.
func failed(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, memory.Invalid)
}

const (
	// SearchAloneFrom is the number of memories from which a conversation is searched alone.
	FewInConversation = 50

	// MaxNewest is the number of a conversation's newest memories that are searched. Below
	// SearchAloneFrom, as many of the user's newest memories are added (design 2).
	MostNear = 200
)

// searchConversation searches the asking conversation's newest memories and, if they are few, also the
// user's newest. Pools are searched completely.
func (r *Source) searchConversation(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
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

// searchNewest searches the conversation's newest memories and, if they are few, the user's newest.
func (r *Source) searchNear(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
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

// addNewest adds the ids of the newest matching memories to ids, and returns their number. A query
// without kinds matches all kinds.
func (r *Source) newest(ctx context.Context, q memory.Query, ids map[string]bool) (n int, err error) {
	q.Limit = MostNear
	if len(q.Kinds) == 0 {
		q.Kinds = []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}
	}
	page, err := r.E.Store.List(ctx, r.Q.Scope.Owner, q)
	if err != nil {
		return 0, fmt.Errorf("list the newest memories: %w", err)
	}
	for _, m := range page.Memories {
		if m.Visible(r.Now) {
			n, ids[m.ID()] = n+1, true
		}
	}
	return n, nil
}

const (
	// userConversation is the conversation whose facts are the user's. All other conversations
	// also read its turns and facts.
	userConversation = "global"

	// DefaultConversation is the id for chats without an id, if conversations are isolated.
	UnnamedConversation = "default"
)

// IsolatesConversations reports whether learned facts are visible only in their conversation.
func (e *Retriever) Apart() bool { return e.Opts.Learn.Scope == core.OfConversation }

// LearningConversation returns the conversation in the scope of learned facts; "" for the user's facts.
func (e *Retriever) LearnsFor(conversation string) string {
	if !e.Apart() || conversation == userConversation {
		return ""
	}
	return conversation
}

// ComparedScope returns the scope of facts that a statement may contradict. With isolated
// conversations, the user's own scope excludes facts of conversations.
func (e *Retriever) Compares(scope memory.Scope) memory.Scope {
	if e.Apart() && scope.Conversation == "" {
		scope.Conversation = userConversation
	}
	return scope
}

// IsComparable reports whether a statement in a scope may change a memory that is visible in the scope.
// With isolated conversations, a statement changes only facts of its conversation. A fact shared by
// another user is not compared while it is pending or hidden, or if it is about that user.
func (e *Retriever) Comparable(scope memory.Scope, m memory.Memory) bool {
	if m.Link != nil && m.Link.Status != memory.Active {
		return false
	}
	return !share.IsAboutHome(m) && (!e.Apart() || m.Scope().Conversation == scope.Conversation)
}

// searchIsolated searches the memories of the question's conversation and, up to the same number, the
// user's own facts and the turns of conversation "global".
func (r *Source) searchApart(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	own, facts, turns := s, s, s
	own.Conversation = r.Q.Scope.Conversation
	facts.Kinds = among(s.Kinds, memory.KindFact, memory.KindSummary)
	facts.Scopes = slices.Clone(s.Scopes)
	for i := range facts.Scopes {
		facts.Scopes[i].Conversation = userConversation
	}
	turns.Kinds, turns.Conversation = among(s.Kinds, memory.KindTurn), userConversation
	var found, users []memory.Candidate
	for _, one := range []struct {
		memory.Search
		into *[]memory.Candidate
	}{{own, &found}, {facts, &users}, {turns, &users}} {
		if len(s.Kinds) > 0 && len(one.Kinds) == 0 {
			continue
		}
		more, err := r.E.Searcher.Search(ctx, one.Search)
		if err != nil {
			return nil, err
		}
		for _, c := range more {
			if !slices.ContainsFunc(found, func(k memory.Candidate) bool { return k.ID == c.ID }) {
				*one.into = append(*one.into, c)
			}
		}
	}
	slices.SortStableFunc(users, func(a, b memory.Candidate) int { return cmp.Compare(candidateScore(b, s), candidateScore(a, s)) })
	return append(found, users[:min(s.Limit, len(users))]...), nil
}

// candidateScore returns the score by which a search ordered a candidate.
func candidateScore(c memory.Candidate, s memory.Search) float64 {
	if s.ByVector && c.Found.Vector != 0 {
		return float64(c.Found.Vector)
	}
	return c.Score
}

// filterKinds returns the kinds that are in allowed; empty allowed means all.
func among(wanted []memory.Kind, kinds ...memory.Kind) []memory.Kind {
	return slices.DeleteFunc(kinds, func(k memory.Kind) bool { return len(wanted) > 0 && !slices.Contains(wanted, k) })
}
