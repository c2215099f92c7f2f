package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// Rules are what recall does beside searching. The zero Rules
// search everything that the user has, and do nothing else. None of them holds for
// a question to the past or for what is to be forgotten.
type Rules struct {
	SmallSet  int           // no more facts than this: all of them, and no search
	Reach     Reach         // of a chat; "": ReachUser
	Bootstrap int           // fewer facts of a user than this: the global pool joins in
	Fallback  Fallback      // "": FallbackNone
	Expand    bool          // short first-person questions are embedded with words about people
	Messages  int           // how many of the last user messages are a chat's question; 0: one
	Heading   string        // over the block of a chat
	Hint      string        // what the block says of itself besides
	Roles     bool          // its lines name the role of who said it
	Told      bool          // of turns, only what users tell: neither answers nor orders
	NoTurns   bool          // facts and summaries alone, unless the question asks for turns
	Core      bool          // a block begins with facts that stand on the message's topic
	Questions bool          // what users asked, and answers that say nothing new, are recalled like other turns
	Contexts  int           // most tokens of attached documents in a prompt; 0: recall.DefaultContextBudget
	Summary   bool          // a chat is always told its conversation's summary, found or not
	SinceSaid bool          // age counts from when something was said, not from its last change
	Decay     time.Duration // in which relevance falls to 1/e with age; 0: it is blended with recency
	Lambda    float64       // weight of the score against redundancy; 0: 0.7

	Measure recall.Measure // what scores and thresholds are on

	VectorWeight *float64 // of a cosine among the cues; nil: the one fitted with words
	Pools        []string // shared pools that every user's questions reach too, by name
	Each         int      // candidates of each search for each memory that may be shown; 0: 160 in all

	Read bool // a model reads the chat: what it was told there, memory need not tell it
}

// Reach is what a question in a chat is searched in.
type Reach string

// The reaches.
const (
	ReachUser         Reach = "user"         // everything of the user's
	ReachConversation Reach = "conversation" // the chat's own conversation; while that is short, recent ones too
)

// Fallback is when recent facts stand in for what search finds.
type Fallback string

// The fallbacks.
const (
	FallbackNone  Fallback = "none"
	FallbackError Fallback = "error" // when search fails
	FallbackEmpty Fallback = "empty" // also when it finds nothing
)

const (
	// recents is how many of the newest facts stand in for a search (design 1).
	recents = 10

	// searchShare and embedShare are how much of the time that a chat has left a
	// search and its embedder may take: after a search that hangs there is time to
	// read recent facts, after an embedder that hangs time to search by words.
	searchShare = 0.8
	embedShare  = 0.5
)

// question is what a chat asks memory.
func (e *Engine) question(c *wire.Chat) string { return c.Question(max(1, e.opts.Recall.Messages)) }

// ruled reports whether the rules hold for the question: it is about the present,
// facts may answer it, and it asks for what helps rather than for all there is.
func (r *recalling) ruled() bool { return r.lists() && !r.q.Whole }

// unsearched reports whether facts may be shown that no search found: where the question sets
// no threshold of its own.
func (r *recalling) unsearched() bool { return r.ruled() && r.q.ScoreThreshold == nil }

// few returns the facts of a scope that a query selects, newest first. all is false
// where there are more than most of them, or so many others that it would take long
// to tell.
func (r *recalling) few(ctx context.Context, scope memory.Scope, q memory.Query, most int) (facts []memory.Memory, all bool, err error) {
	q.Limit = most + 1
	for looked := 0; ; {
		page, err := r.e.Store.List(ctx, scope.Owner, q)
		if err != nil {
			return nil, false, err
		}
		for _, m := range page.Memories {
			if m.Visible(r.now) && scope.Sees(m.Scope()) {
				facts = append(facts, m)
			}
		}
		if len(facts) > most {
			return facts[:most], false, nil
		}
		looked += len(page.Memories)
		if q.Cursor = page.Next; q.Cursor == "" || looked > listed {
			return facts, q.Cursor == "", nil
		}
		q.Limit = listed
	}
}

// query reads the question.
func (r *recalling) query() recall.Query {
	rules := &r.e.opts.Recall
	return recall.NewQuery(r.q.Text, r.now, recall.QueryOptions{Expand: rules.Expand, AsSaid: rules.Measure != recall.Fitted})
}

// ranking sets what the rules say of ranking.
func (r *Rules) ranking(o *recall.Options) {
	o.SinceSaid, o.Decay, o.VectorWeight, o.Measure = r.SinceSaid, r.Decay, r.VectorWeight, r.Measure
	if r.Lambda > 0 {
		o.Lambda = &r.Lambda
	}
}

// limit is how many candidates one search proposes; usual is how many without the rule.
func (r *Rules) limit(usual, topK int) int {
	if r.Each == 0 {
		return usual
	}
	return min(usual, r.Each*max(1, topK))
}

// filters are what the question narrows facts by.
func (r *recalling) filters() memory.Query {
	return memory.Query{Category: r.q.Category, Tag: r.q.Tag, Conversation: r.q.Conversation}
}

// smallSet returns all facts as hits, if the rule holds.
func (r *recalling) smallSet(ctx context.Context) (hits []memory.Hit, holds bool) {
	most := r.e.opts.Recall.SmallSet
	if most == 0 || !r.chat || !r.unsearched() {
		return nil, false
	}
	facts, all, err := r.few(ctx, r.q.Scope, r.filters(), most)
	if err != nil {
		r.skip("small_set", err)
	}
	if err != nil || !all || len(facts) == 0 { // without facts there may be talk
		return nil, false
	}
	for _, h := range recall.ByImportance(facts, r.now) {
		if !r.q.Exclude[h.Memory.ID()] {
			hits = append(hits, memory.Hit{Memory: h.Memory, Why: memory.Why{{Name: "small_set", Value: 1}}})
		}
	}
	return hits, true
}

// pool returns the scope of the global pool, if the user has so little that it
// joins in (design 3, 4.5).
func (r *recalling) pool(ctx context.Context) (scope memory.Scope, joins bool) {
	below, owner := r.e.opts.Recall.Bootstrap, r.q.Scope.Owner
	if below == 0 || !r.ruled() || r.q.Conversation != "" || owner.Kind() != memory.UserKind {
		return memory.Scope{}, false
	}
	scope = r.q.Scope
	scope.Owner = memory.Global(owner.Namespace())
	version, err := r.e.version(ctx, scope.Owner)
	if err == nil && version == 0 {
		return memory.Scope{}, false
	}
	var few bool
	if err == nil {
		_, few, err = r.few(ctx, memory.Scope{Owner: owner}, memory.Query{}, below-1)
	}
	if err != nil {
		r.skip("bootstrap", err)
	}
	return scope, few && err == nil
}

// pools returns the scopes of the shared pools that a user's question reaches.
func (r *recalling) pools() []memory.Scope {
	owner := r.q.Scope.Owner
	if !r.ruled() || r.q.Conversation != "" || owner.Kind() != memory.UserKind {
		return nil
	}
	var out []memory.Scope
	for _, name := range r.e.opts.Recall.Pools {
		if pool := memory.Pool(owner.Namespace(), name); pool.Valid() {
			scope := r.q.Scope
			scope.Owner = pool
			out = append(out, scope)
		}
	}
	return out
}

// read hydrates candidates of the user's and of the pools', and marks the pools'.
// A pool that cannot be read is left out.
func (r *recalling) read(ctx context.Context, cands []memory.Candidate) ([]memory.Hit, error) {
	owner := r.q.Scope.Owner
	if !slices.ContainsFunc(cands, func(c memory.Candidate) bool { return c.Owner != owner }) {
		return r.hydrate(ctx, cands)
	}
	var own []memory.Candidate
	pools := map[memory.Owner][]memory.Candidate{}
	place := make(map[string]int, len(cands))
	for i, c := range cands {
		place[c.ID] = i
		if c.Owner == owner {
			own = append(own, c)
		} else {
			pools[c.Owner] = append(pools[c.Owner], c)
		}
	}
	hits, err := r.hydrate(ctx, own)
	if err != nil {
		return nil, err
	}
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		from := recalling{e: r.e, q: Question{Scope: memory.Scope{Owner: pool}}, now: r.now}
		others, err := from.hydrate(ctx, pools[pool])
		mark := "bootstrap"
		if pool.Kind() == memory.PoolKind {
			mark = "pool"
		}
		if err != nil {
			r.skip(mark, err)
		}
		for _, h := range others {
			h.Why = append(memory.Why{{Name: mark, Value: 1}}, h.Why...)
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b memory.Hit) int { return cmp.Compare(place[a.Memory.ID()], place[b.Memory.ID()]) })
	return hits, nil
}

// standsIn reports whether recent facts take the place of what search came to.
func (r *recalling) standsIn(ctx context.Context, err error) bool {
	switch r.e.opts.Recall.Fallback {
	case FallbackError:
		return r.unsearched() && failed(ctx, err)
	case FallbackEmpty:
		return r.unsearched() && (failed(ctx, err) || r.chat && err == nil && len(r.hits)+len(r.dropped) == 0)
	}
	return false
}

// recent answers with the newest facts, since search failed or found nothing.
func (r *recalling) recent(ctx context.Context, topK int) error {
	r.placed()
	facts, _, err := r.few(ctx, r.q.Scope, r.filters(), recents)
	if err != nil {
		return fmt.Errorf("read recent facts: %w", err)
	}
	var hits []memory.Hit
	for _, m := range facts {
		if r.q.Exclude[m.ID()] {
			continue
		}
		hits = append(hits, memory.Hit{Memory: m, Why: memory.Why{{Name: "recent", Value: 1}}})
	}
	r.found += len(hits)
	r.fit(ctx, hits, r.atLeast(topK, recents))
	return nil
}

// atLeast is how many hits a rule may show: its own number, unless the request
// asked for another.
func (r *recalling) atLeast(topK, n int) int {
	if r.q.TopK != nil {
		return topK
	}
	return max(topK, n)
}

// summary returns that of the conversation which asks, by setting; nil without one.
func (r *recalling) summary(ctx context.Context) *memory.Summary {
	if !r.e.opts.Recall.Summary {
		return nil
	}
	r.placed()
	if r.q.In == "" {
		return nil
	}
	all, err := r.e.summaries(ctx, r.q.Scope.Owner, r.q.In)
	if err != nil {
		r.skip("summary", err)
	}
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}
