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
	ReachConversation core.Reach = "conversation" // the chat's conversation; while it is short, also the user's newest memory
)

// The values of Fallback.
const (
	FallbackNone  core.Fallback = "none"
	FallbackError core.Fallback = "error" // when the search fails
	FallbackEmpty core.Fallback = "empty" // when the search fails or finds nothing
)

// RecentFacts is the number of newest facts that replace a search result.
const RecentFacts = 10

// QuestionText returns the question of a chat request.
func (e *Retriever) QuestionText(c *chatapi.Chat) string {
	return c.Question(max(1, e.Opts.Recall.QuestionMessages))
}

// canSkipSearch reports whether facts may be returned without a search. Only a search applies a threshold.
func (r *Source) canSkipSearch() bool {
	return r.recallRulesApply() && r.Question.ScoreThreshold == nil
}

// fewFacts returns the matching facts of a scope, newest first. isComplete is false if there are more than
// limit facts, or if too many other memories would have to be read.
func (r *Source) fewFacts(ctx context.Context, scope memory.Scope, q memory.Query, limit int) (facts []memory.Memory, isComplete bool, err error) {
	q.Limit = limit + 1
	for readCount := 0; ; {
		page, err := r.Retriever.Store.List(ctx, scope.Owner, q)
		if err != nil {
			return nil, false, err
		}
		for _, m := range page.Memories {
			if m.Visible(r.Now) && scope.Sees(m.Scope()) {
				facts = append(facts, m)
			}
		}
		if len(facts) > limit {
			return facts[:limit], false, nil
		}
		readCount += len(page.Memories)
		if q.Cursor = page.Next; q.Cursor == "" || readCount > MaxListed {
			return facts, q.Cursor == "", nil
		}
		q.Limit = MaxListed
	}
}

// Query parses the question.
func (r *Source) Query() recall.Query {
	rules := &r.Retriever.Opts.Recall
	return recall.NewQuery(r.Question.Text, r.Now, recall.QueryOptions{ExpandShort: rules.ExpandQuestions, EmbedWhole: r.relevanceScale().Measure != recall.Fitted})
}

// filterQuery returns the question's filters as a query.
func (r *Source) filterQuery() memory.Query {
	return memory.Query{Category: r.Question.Category, Tag: r.Question.Tag, Conversation: r.Question.Conversation}
}

// smallSet returns all facts as hits, if there are at most Options.Recall.SmallSetSize facts.
func (r *Pipeline) smallSet(ctx context.Context) (hits []memory.Hit, isSmallSet bool) {
	limit := r.Retriever.Opts.Recall.SmallSetSize
	if limit == 0 || !r.Question.IsChat || !r.canSkipSearch() {
		return nil, false
	}
	facts, isComplete, err := r.fewFacts(ctx, r.Question.Scope, r.filterQuery(), limit)
	if err != nil {
		r.RecordSkip("small_set", err)
	}
	if err != nil || !isComplete || len(facts) == 0 { // without facts, a search may still find turns
		return nil, false
	}
	for _, h := range recall.HitsByImportance(facts, r.Now) {
		if !r.Question.ExcludeIDs[h.Memory.ID()] {
			hits = append(hits, memory.Hit{Memory: h.Memory, Why: memory.Why{{Name: "small_set", Value: 1}}})
		}
	}
	return hits, true
}

// extraScopes returns the other scopes that a question searches: the configured shared pools and, for a user
// with almost no facts, the global pool.
func (r *Source) extraScopes(ctx context.Context) (scopes []memory.Scope) {
	owner := r.Question.Scope.Owner
	if !r.recallRulesApply() || r.Question.Conversation != "" || owner.Kind() != memory.UserKind {
		return nil
	}
	addScope := func(pool memory.Owner) {
		scope := r.Question.Scope
		scope.Owner = pool
		scopes = append(scopes, scope)
	}
	for _, name := range r.Retriever.Opts.Recall.Pools {
		if pool := memory.Pool(owner.Namespace(), name); pool.Valid() {
			addScope(pool)
		}
	}
	if limit := r.Retriever.Opts.Recall.BootstrapBelowFacts; limit > 0 {
		global := memory.Global(owner.Namespace())
		version, err := r.Retriever.Version(ctx, global)
		hasFew := version > 0
		if hasFew {
			_, hasFew, err = r.fewFacts(ctx, memory.Scope{Owner: owner}, memory.Query{}, limit-1)
		}
		if err != nil {
			r.RecordSkip("bootstrap", err)
		} else if hasFew {
			addScope(global)
		}
	}
	return scopes
}

// hydrateAllOwners hydrates candidates of all owners, and notes pools in Why. It skips unreadable pools.
func (r *Source) hydrateAllOwners(ctx context.Context, candidates []memory.Candidate) ([]memory.Hit, error) {
	if !slices.ContainsFunc(candidates, func(c memory.Candidate) bool { return c.Owner != r.Question.Scope.Owner }) {
		return r.hydrate(ctx, candidates)
	}
	byOwner, position := map[memory.Owner][]memory.Candidate{}, map[string]int{}
	for i, c := range candidates {
		byOwner[c.Owner] = append(byOwner[c.Owner], c)
		position[c.ID] = i
	}
	hits, err := r.hydrate(ctx, byOwner[r.Question.Scope.Owner])
	if err != nil {
		return nil, err
	}
	delete(byOwner, r.Question.Scope.Owner)
	for _, pool := range slices.Sorted(maps.Keys(byOwner)) {
		poolSource := Source{Retriever: r.Retriever, Question: Question{Scope: memory.Scope{Owner: pool}}, Now: r.Now}
		poolHits, err := poolSource.hydrate(ctx, byOwner[pool])
		whyName := "bootstrap"
		if pool.Kind() == memory.PoolKind {
			whyName = "pool"
		}
		if err != nil {
			r.RecordSkip(whyName, err)
		}
		for _, h := range poolHits {
			h.Why = append(memory.Why{{Name: whyName, Value: 1}}, h.Why...)
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b memory.Hit) int { return cmp.Compare(position[a.Memory.ID()], position[b.Memory.ID()]) })
	return hits, nil
}

// shouldUseRecent reports whether recent facts replace the search result.
func (r *Pipeline) shouldUseRecent(ctx context.Context, err error) bool {
	fallback := r.Retriever.Opts.Recall.Fallback
	if !r.canSkipSearch() || fallback != FallbackError && fallback != FallbackEmpty {
		return false
	}
	hasHits := len(r.Hits) > 0 || slices.ContainsFunc(r.DroppedHits, func(d recall.DroppedHit) bool { return d.Stage != "echo" })
	return isSearchFailure(ctx, err) || fallback == FallbackEmpty && r.Question.IsChat && err == nil && !hasHits
}

// recallRecent answers with the newest facts after a search that failed or found nothing.
func (r *Pipeline) recallRecent(ctx context.Context, topK int) error {
	r.waitForChatState()
	facts, _, err := r.fewFacts(ctx, r.Question.Scope, r.filterQuery(), RecentFacts)
	if err != nil {
		return fmt.Errorf("read recent facts: %w", err)
	}
	var hits []memory.Hit
	for _, m := range facts {
		if r.Question.ExcludeIDs[m.ID()] {
			continue
		}
		hits = append(hits, memory.Hit{Memory: m, Why: memory.Why{{Name: "recent", Value: 1}}})
	}
	r.FoundCount += len(hits)
	r.fitToBudget(ctx, hits, r.hitLimit(topK, RecentFacts))
	return nil
}

// hitLimit returns the number of hits that a rule may return: at least minHits, unless the request sets topK.
func (r *Pipeline) hitLimit(topK, minHits int) int {
	if r.Question.TopK != nil {
		return topK
	}
	return max(topK, minHits)
}

// conversationSummary returns the asking conversation's summary, or nil if the setting is off.
func (r *Source) conversationSummary(ctx context.Context) *memory.Summary {
	if !r.Retriever.Opts.Recall.AddSummary {
		return nil
	}
	r.waitForChatState()
	if r.Question.AskingConversation == "" {
		return nil
	}
	summaries, err := r.Retriever.Summaries(ctx, r.Question.Scope.Owner, r.Question.AskingConversation)
	if err != nil {
		r.RecordSkip("summary", err)
	}
	if len(summaries) == 0 {
		return nil
	}
	return &summaries[0]
}

// isSearchFailure reports whether a search failed, except after a client disconnected or for an invalid
// question.
func isSearchFailure(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, memory.Invalid)
}

const (
	// SearchAloneFrom is the minimum number of memories of a conversation that is searched alone.
	SearchAloneFrom = 50

	// MaxNewest is the number of a conversation's newest memories that are searched. If they are fewer than
	// SearchAloneFrom, the user's newest memories are searched too, at most MaxNewest.
	MaxNewest = 200
)

// searchConversation searches the asking conversation's newest memories and, if they are few, also the
// user's newest. Pools are searched completely.
func (r *Source) searchConversation(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	var candidates []memory.Candidate
	poolSearch := s
	poolSearch.Scopes = nil
	for _, scope := range s.Scopes {
		if scope.Owner != r.Question.Scope.Owner {
			poolSearch.Scopes = append(poolSearch.Scopes, scope)
			continue
		}
		ownSearch := s
		ownSearch.Scopes = []memory.Scope{scope}
		cands, err := r.searchNewest(ctx, ownSearch)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, cands...)
	}
	if len(poolSearch.Scopes) == 0 {
		return candidates, nil
	}
	poolCandidates, err := r.Retriever.Searcher.Search(ctx, poolSearch)
	return append(candidates, poolCandidates...), err
}

// searchNewest searches the conversation's newest memories and, if they are few, the user's newest.
func (r *Source) searchNewest(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	s.AllowedIDs = map[string]bool{}
	ownCount, err := r.addNewestIDs(ctx, memory.Query{Kinds: s.Kinds, Conversation: r.Question.AskingConversation}, s.AllowedIDs)
	if err == nil && ownCount < SearchAloneFrom {
		_, err = r.addNewestIDs(ctx, memory.Query{Kinds: s.Kinds}, s.AllowedIDs)
	}
	if err != nil || len(s.AllowedIDs) == 0 {
		return nil, err
	}
	return r.Retriever.Searcher.Search(ctx, s)
}

// addNewestIDs adds the ids of the newest matching memories to ids, and returns their number. A query without
// kinds matches all kinds.
func (r *Source) addNewestIDs(ctx context.Context, q memory.Query, ids map[string]bool) (n int, err error) {
	q.Limit = MaxNewest
	if len(q.Kinds) == 0 {
		q.Kinds = []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}
	}
	page, err := r.Retriever.Store.List(ctx, r.Question.Scope.Owner, q)
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
	DefaultConversation = "default"
)

// IsolatesConversations reports whether learned facts are visible only in their conversation.
func (e *Retriever) IsolatesConversations() bool { return e.Opts.Learn.Scope == core.OfConversation }

// LearningConversation returns conversation if learned facts belong to it, or "" if they belong to the user.
func (e *Retriever) LearningConversation(conversation string) string {
	if !e.IsolatesConversations() || conversation == userConversation {
		return ""
	}
	return conversation
}

// ComparedScope returns the scope of facts that a statement may contradict. With isolated
// conversations, the user's own scope excludes facts of conversations.
func (e *Retriever) ComparedScope(scope memory.Scope) memory.Scope {
	if e.IsolatesConversations() && scope.Conversation == "" {
		scope.Conversation = userConversation
	}
	return scope
}

// IsComparable reports whether a statement in a scope may change a memory that is visible in the scope. With
// isolated conversations, a statement changes only facts of its conversation. A fact shared by another user
// is not compared while it is pending or hidden, or if it is about the sharing user.
func (e *Retriever) IsComparable(scope memory.Scope, m memory.Memory) bool {
	if m.Link != nil && m.Link.Status != memory.Active {
		return false
	}
	return !share.IsAboutHome(m) && (!e.IsolatesConversations() || m.Scope().Conversation == scope.Conversation)
}

// searchIsolated searches the memories of the question's conversation and, up to the same number, the
// user's own facts and the turns of conversation "global".
func (r *Source) searchIsolated(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	own, facts, turns := s, s, s
	own.Conversation = r.Question.Scope.Conversation
	facts.Kinds = filterKinds(s.Kinds, memory.KindFact, memory.KindSummary)
	facts.Scopes = slices.Clone(s.Scopes)
	for i := range facts.Scopes {
		facts.Scopes[i].Conversation = userConversation
	}
	turns.Kinds, turns.Conversation = filterKinds(s.Kinds, memory.KindTurn), userConversation
	var ownCandidates, userCandidates []memory.Candidate
	for _, search := range []struct {
		memory.Search
		into *[]memory.Candidate
	}{{own, &ownCandidates}, {facts, &userCandidates}, {turns, &userCandidates}} {
		if len(s.Kinds) > 0 && len(search.Kinds) == 0 {
			continue
		}
		candidates, err := r.Retriever.Searcher.Search(ctx, search.Search)
		if err != nil {
			return nil, err
		}
		for _, c := range candidates {
			if !slices.ContainsFunc(ownCandidates, func(k memory.Candidate) bool { return k.ID == c.ID }) {
				*search.into = append(*search.into, c)
			}
		}
	}
	slices.SortStableFunc(userCandidates, func(a, b memory.Candidate) int { return cmp.Compare(candidateScore(b, s), candidateScore(a, s)) })
	return append(ownCandidates, userCandidates[:min(s.Limit, len(userCandidates))]...), nil
}

// candidateScore returns the score by which a search ordered a candidate.
func candidateScore(c memory.Candidate, s memory.Search) float64 {
	if s.PreferVectors && c.Measures.Vector != 0 {
		return float64(c.Measures.Vector)
	}
	return c.Score
}

// filterKinds returns the kinds that are in allowed; empty allowed means all.
func filterKinds(allowed []memory.Kind, kinds ...memory.Kind) []memory.Kind {
	return slices.DeleteFunc(kinds, func(k memory.Kind) bool { return len(allowed) > 0 && !slices.Contains(allowed, k) })
}
