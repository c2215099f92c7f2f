package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Question is one question to memory.
type Question struct {
	Scope          memory.Scope
	Text           string
	Chat           bool     // it is a message of a chat, which may ask nothing of memory; else somebody asks on purpose
	TopK           *int     // nil: the setting
	ScoreThreshold *float64 // nil: the setting
	RecencyWeight  *float64 // nil: the setting
	Kinds          []memory.Kind
	Category       string
	Tag            string
	Conversation   string // search only what it said or taught
	Exclude        map[string]bool
	Said           []string // what the request says, to a model that reads it: not told again
	At             memory.At
	Budget         int             // tokens; 0: any
	Replaced       map[string]bool // turns that the request takes the place of: what they alone taught is not told
	Place          func() Place    // of a chat, which is found meanwhile; nil: In, Exclude and Replaced are set
	Carries        int             // how many memories Place may exclude
	In             string          // the conversation that asks, for the trace
	Untold         bool            // its trace has no words
	Untraced       bool            // [Retriever.Recall] keeps no trace
	Door           string

	// Core says that the block goes into a prompt that somebody's model reads, and begins with the facts that hold.
	Core bool
}

// Place is where a chat's question belongs, and what the chat holds already.
type Place struct {
	In                string // the conversation
	Exclude, Replaced map[string]bool

	// What earlier blocks tell, as in [recall.RenderOptions].
	Later      bool
	Told       func(recall.Line, string) bool
	Core       map[string]bool // the facts in their cores
	CoreTokens int             // which these have
}

// Found is what memory has to a question, best first.
type Found struct {
	Hits     []memory.Hit
	Trace    string   // "": none is kept
	Degraded []string // parts that were skipped, and why
	Misspelt []memory.Misspelt
	Block    string // of [exchange.Exchanges.RecallBlock], as Pause is
	Pause    core.Pause
}

const (
	// Candidates is how many the searcher proposes.
	Candidates = recall.Candidates

	// spare is how many more memories than asked for are read from the store, since some
	// are merged into others or were deleted meanwhile.
	spare = 8

	// maxCarried bounds the extra candidates of a chat, whose request may contain some of
	// them already.
	maxCarried = 100
)

// Recall answers a question from memory. A part that fails is skipped and named;
// only where nothing can be searched at all is it an error.
func (e *Retriever) Recall(ctx context.Context, q Question) (Found, error) {
	started := e.Now()
	if e.Apart() && q.Conversation != "" && q.At == (memory.At{}) { // and what the user's own conversation said
		q.Scope.Conversation, q.Conversation = q.Conversation, ""
	}
	defer e.Idle.Begin()()
	r := Pipeline{Source: Source{E: e, Q: q, Now: memory.Time(started)}}
	err := r.run(ctx)
	e.Metrics.Recalled(e.Now().Sub(started), r.Degraded...)
	found := Found{Hits: r.Hits, Degraded: r.Degraded, Misspelt: recall.Spelt(r.Misspelt, r.Hits)}
	if !q.Untraced {
		found.Trace = core.NewID()
		r.Trace(found.Trace, "", e.Now().Sub(started))
	}
	return found, err
}

// Prepare recalls and adds what is in every prompt. What a chat asks has a deadline: a result
// that comes too late is dropped. The caller traces the outcome.
func (e *Retriever) Prepare(ctx context.Context, q Question) (p Prepared, r *Pipeline, took time.Duration) {
	started := e.Now()
	defer e.Idle.Begin()()
	deadline := e.Deadline()
	if q.Chat {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	r = &Pipeline{Source: Source{E: e, Q: q, Now: memory.Time(started)}}
	searched := *r
	block, err := core.Beside(e.Core, func() (string, error) { return searched.block(ctx), nil })(ctx)
	if err == nil {
		r = &searched
	} else {
		r.Skip("deadline", fmt.Errorf("recall took longer than %v", deadline))
	}
	r.placed()
	took = e.Now().Sub(started)
	if e.Metrics != nil {
		e.Metrics.CoreGiven(r.Opening.Tokens())
	}
	e.Metrics.Recalled(took, r.Degraded...)
	return Prepared{Block: block, Hits: r.Hits, Core: r.Opening, Trace: core.NewID(), Read: true, Pending: r.pending, Untold: r.Untold()}, r, took
}

// block recalls and renders. A part that fails, or panics, is skipped.
func (r *Pipeline) block(ctx context.Context) (text string) {
	err := core.Guarded(r.E.Core, func() error { text = r.rendered(ctx); return nil })
	if err != nil {
		r.Skip("recall", err)
		r.Hits = nil // they are in no block
	}
	return text
}

func (r *Pipeline) rendered(ctx context.Context) string {
	var standing recall.Core
	beside := Source{E: r.E, Q: r.Q, Now: r.Now} // not r itself, which searches meanwhile
	var reading sync.WaitGroup
	reading.Go(func() {
		var err error
		if r.pending, r.disputed, err = r.E.Compare.Disputes(ctx, r.Q.Scope.Owner); err != nil {
			r.E.Log.Warn("what waits is not shown", "err", err)
		}
		defer r.E.Metrics.StageEnded("core", time.Now())
		beside.Part("core", func() { standing = beside.standing(ctx, r.disputed) })
	})
	r.stands = func() recall.Core { reading.Wait(); return standing }
	defer reading.Wait()
	err := r.run(ctx)
	r.settle(nil)
	if err != nil {
		r.Skip("search", err)
	}
	r.Degraded = append(r.Degraded, beside.Degraded...)
	r.Part("questions", func() { r.pair(ctx) })
	opts := r.E.Rendering(false)
	opts.Disputed = r.disputed
	if r.Q.Place != nil {
		place := r.Q.Place()
		opts.Later, opts.Shown = place.Later, place.Told
	}
	defer r.E.Metrics.StageEnded("render", time.Now())
	block := recall.Render(r.Opening, r.Hits, opts)
	r.Lines = block.Lines
	r.Opening, r.overflow = r.besides(r.Opening), r.besides(r.overflow)
	r.tellOnce()
	return block.Text
}

// Pipeline is one question on its way through the stages.
type Pipeline struct {
	Source

	asked    string // what of the question is asked, without what stands beside it
	Found    int
	Cut      []recall.Cut
	repeats  *recall.RepeatFilter // of the question
	leftOut  map[string]bool      // ids of what repeats the question, or is in the request already
	Dropped  []recall.Dropped
	Hits     []memory.Hit
	Opening  recall.Core            // what the block begins with, less what is among hits
	overflow recall.Core            // what of that it had no room for
	stands   func() recall.Core     // what the block may begin with; nil where that is settled
	disputed map[string]memory.Fact // by the id of a fact, the one that waits to take its place
	Lines    []recall.Line          // of the block
	pending  int                    // how many facts wait for a person
	Misspelt []memory.Misspelt
	reranked [2]int // candidates that the reranker read, and was given
}

// run takes the question through query, search, rank, hydration and fit.
func (r *Pipeline) run(ctx context.Context) error {
	if !r.Q.Scope.Owner.Valid() {
		return memory.Errorf(memory.Invalid, "a question needs an owner")
	}
	topK := r.E.Opts.Most(r.Q.Chat)
	if r.Q.TopK != nil {
		topK = *r.Q.TopK
	}
	if topK <= 0 {
		return nil
	}
	query := r.Query()
	r.asked = query.Asked
	if query.Broad && r.ruled() {
		err := core.Guarded(r.E.Core, func() error { return r.list(ctx, topK) })
		if err == nil {
			return nil
		}
		r.Skip("list", err)
	}
	err := core.Guarded(r.E.Core, func() error { return r.find(ctx, query, topK) })
	if !r.standsIn(ctx, err) {
		return err
	}
	if second := core.Guarded(r.E.Core, func() error { return r.recent(ctx, topK) }); second != nil {
		r.Skip("recent", second)
		return err
	}
	if err != nil {
		r.Skip("search", err)
	}
	return nil
}

// find takes the query through search, rank, hydration and fit. A user with few facts is
// shown all of them.
func (r *Pipeline) find(ctx context.Context, query recall.Query, topK int) error {
	ctx, cancel := before(ctx, r.E.share(searchLeaves), 0)
	defer cancel()
	if rules := r.E.Opts.Recall; rules.SmallSet > 0 || rules.Reach == ReachConversation {
		r.placed()
	}
	hits, small := r.smallSet(ctx)
	r.Found = len(hits)
	others := r.pools(ctx)
	if !small || len(others) > 0 {
		s := r.Wanted(ctx, query)
		if !small {
			s.Scopes = []memory.Scope{r.Q.Scope}
		}
		own := s.Scopes
		s.Scopes = slices.Concat(own, others)
		found, err := r.ranked(ctx, query, s, topK)
		if err != nil && len(others) > 0 {
			r.Skip("bootstrap", err)
			s.Scopes = own
			found, err = r.ranked(ctx, query, s, topK)
		}
		if err != nil {
			return err
		}
		hits = append(hits, found...)
	}
	if small {
		topK = r.atLeast(topK, len(hits))
	}
	r.fit(ctx, hits, topK)
	if r.history == nil {
		r.Part("successors", func() { r.overtaken(ctx) })
		r.Part("predecessors", func() { r.before(ctx) })
	}
	return nil
}

// repeatSearches bounds the searches for one question. While more than half of the candidates are left
// out it searches again: a question asked a hundred times crowds out its answer.
const repeatSearches = 4

// ranked returns what a search finds, best first, without what is left out whatever its score.
func (r *Pipeline) ranked(ctx context.Context, query recall.Query, s memory.Search, topK int) ([]memory.Hit, error) {
	s.Limit = r.E.Opts.Recall.Limit(s.Limit, topK)
	for tries := 1; ; tries++ {
		var cands []memory.Candidate
		err := core.Guarded(r.E.Core, func() (err error) { cands, err = r.Search(ctx, s); return err })
		if err != nil {
			return nil, err
		}
		if r.settle(cands) || r.Q.Place != nil && !r.isPlaced {
			r.placed()
			cands = slices.DeleteFunc(cands, func(c memory.Candidate) bool { return r.Q.Exclude[c.ID] })
			cands = cands[:min(len(cands), Candidates)]
		}
		r.Found += len(cands)
		r.Misspelt = recall.Misspelt(cands)
		left := len(r.leftOut)
		hits, err := r.best(ctx, query, cands, topK)
		index.Done(cands) // ranking copied what it kept
		if err != nil || tries == repeatSearches || 2*(len(r.leftOut)-left) < s.Limit {
			return hits, err
		}
		s.Exclude = maps.Clone(s.Exclude)
		if s.Exclude == nil {
			s.Exclude = map[string]bool{}
		}
		maps.Copy(s.Exclude, r.leftOut)
	}
}

// best ranks candidates, with what a reranker says of the best of them.
func (r *Pipeline) best(ctx context.Context, query recall.Query, cands []memory.Candidate, topK int) ([]memory.Hit, error) {
	opts := r.options(topK)
	if r.E.Reranker != nil && len(cands) > 0 {
		first := unreranked(opts)
		if first.Limit, first.Threshold = Reranked, new(float64); r.E.Opts.Recall.Each > 0 { // so few are all read
			first.Limit = len(cands)
		}
		hits, err := r.rank(ctx, query, &cands, &first)
		if err != nil {
			return nil, err
		}
		opts.Reranked = r.rerank(ctx, query, hits)
		opts.Answered, opts.Chat = first.Answered, opts.Chat && first.Answered == nil
	}
	if len(opts.Reranked) == 0 && opts.Measure == recall.Reranker {
		r.measure(&opts, recall.Fitted)
	}
	return r.rank(ctx, query, &cands, &opts)
}

// options returns by what candidates are ranked.
func (r *Pipeline) options(topK int) recall.Options {
	opts := recall.Options{Limit: topK + spare, Threshold: r.Q.ScoreThreshold, Recency: r.Q.RecencyWeight}
	scale := r.scale()
	if opts.Threshold == nil && scale.Threshold >= 0 {
		opts.Threshold = &scale.Threshold
	}
	if opts.Recency == nil {
		opts.Recency = &r.E.Opts.RecencyWeight
	}
	opts.Background, opts.OfWords = background(r.E.Embedder), core.OfWords(r.E.Embedder)
	r.E.Opts.Recall.Ranking(&opts)
	opts.Measure = scale.Measure
	opts.Chat = r.Q.Chat && r.ruled()
	r.measure(&opts, scale.Measure)
	return opts
}

// askedAgain is the threshold of a question that was asked before: half the usual one,
// since the earlier questions make its words common.
var askedAgain = recall.DefaultAnswered / 2

// rank ranks candidates and reads the best. Those to be left out would raise the bar for the others: it ranks again
// without them, and by a lower bar where an earlier question stood among the best.
func (r *Pipeline) rank(ctx context.Context, query recall.Query, cands *[]memory.Candidate, opts *recall.Options) ([]memory.Hit, error) {
	for {
		kept, cut := r.byMeasure(query, *cands, *opts)
		r.Cut = cut
		hits, err := r.read(ctx, kept)
		if err != nil {
			return nil, err
		}
		left := len(r.leftOut)
		for i, h := range hits {
			if r.leavesOut(h) == "echo" && h.Memory.Turn.Role == memory.RoleUser && i < opts.Limit-spare {
				opts.Answered, opts.Chat = &askedAgain, false
			}
		}
		if len(r.leftOut) == left {
			return hits, nil
		}
		*cands = slices.DeleteFunc(*cands, func(c memory.Candidate) bool { return r.leftOut[c.ID] })
	}
}

// measure sets what candidates are ranked by. A threshold of the settings holds for the
// measure of the settings only, and a threshold decides alone.
func (r *Pipeline) measure(opts *recall.Options, m recall.Measure) {
	if opts.Measure != m && opts.Threshold != r.Q.ScoreThreshold {
		opts.Threshold = nil
	}
	opts.Measure = m
	opts.Chat = opts.Chat && (m != recall.Fitted || opts.Threshold == nil)
}

// byMeasure ranks candidates: by their cosines, if that is the measure, those that have a vector, and
// by their words the others.
func (r *Pipeline) byMeasure(query recall.Query, cands []memory.Candidate, opts recall.Options) (kept []memory.Candidate, cut []recall.Cut) {
	if opts.Measure != recall.Cosine {
		return recall.Rank(query, cands, opts, r.Now)
	}
	bare := func(c memory.Candidate) bool { return c.Found.Vector == 0 }
	near := slices.DeleteFunc(slices.Clone(cands), bare)
	kept, cut = recall.Rank(query, near, opts, r.Now)
	if len(near) == len(cands) {
		return kept, cut
	}
	r.measure(&opts, recall.Fitted)
	more, others := recall.Rank(query, slices.DeleteFunc(slices.Clone(cands), func(c memory.Candidate) bool { return !bare(c) }), opts, r.Now)
	kept, cut = append(kept, more...), append(cut, others...)
	slices.SortStableFunc(kept, func(a, b memory.Candidate) int { return cmp.Compare(b.Score, a.Score) })
	return kept[:min(len(kept), opts.Limit)], cut
}

// unreranked returns the options by which candidates are ranked before a reranker reads them.
func unreranked(opts recall.Options) recall.Options {
	if opts.Measure == recall.Reranker {
		whole := 1.0
		opts.Measure, opts.Lambda = recall.Cosine, &whole
	}
	return opts
}

// fit keeps the hits that fit into the budget: none that the request has already, and none shared by another user that
// contradicts a fact of the user's own.
func (r *Pipeline) fit(ctx context.Context, hits []memory.Hit, topK int) {
	var fresh []memory.Hit
	for _, h := range r.withReasons(ctx, hits) {
		if r.carries(h.Memory) {
			r.drop(h, "carried")
		} else {
			fresh = append(fresh, h)
		}
	}
	var dropped []recall.Dropped
	r.Hits, dropped = recall.Fit(fresh, recall.FitOptions{
		TopK: topK, Budget: cmp.Or(r.Q.Budget, math.MaxInt), Question: r.asked,
		Contradicted: func(h memory.Hit) bool { return r.contradicted(ctx, h.Memory.Link) },
	})
	r.Dropped = append(r.Dropped, dropped...)
}

// reasonsOf is how many facts are shown with their turns where a question is for a reason.
const reasonsOf = 3

// withReasons inserts the source turns behind the first facts when the question asks why:
// ranking prefers facts, which seldom contain the reason.
func (r *Pipeline) withReasons(ctx context.Context, hits []memory.Hit) []memory.Hit {
	if r.history != nil || !recall.AsksWhy(r.asked) {
		return hits
	}
	out, left := make([]memory.Hit, 0, len(hits)+reasonsOf), reasonsOf
	for _, h := range hits {
		out = append(out, h)
		if h.Memory.Fact == nil || h.Memory.Link != nil || left == 0 || h.Why.Get("own") == 0 {
			continue
		}
		left--
		var missing []string
		for _, id := range h.Memory.Fact.Provenance.Turns {
			if !r.Q.Exclude[id] && !slices.ContainsFunc(hits, func(other memory.Hit) bool { return other.Memory.ID() == id }) {
				missing = append(missing, id)
			}
		}
		if len(missing) == 0 {
			continue
		}
		turns, err := r.E.Store.Get(ctx, r.Q.Scope.Owner, missing...)
		if err != nil {
			r.Skip("reasons", err)
			return hits
		}
		for _, m := range turns {
			if m.Turn != nil && m.Visible(r.Now) && m.Turn.Tells() {
				out = append(out, memory.Hit{Memory: m, Score: h.Score, Why: append(slices.Clone(h.Why), memory.Part{Name: "reason", Value: 1})})
			}
		}
	}
	return out
}

// contradicted reports whether a fact that another user shares contradicts one of the user's own, or that cannot be
// known. Questions about the past are not checked.
func (r *Pipeline) contradicted(ctx context.Context, link *memory.Link) bool {
	if r.history != nil || link == nil || !share.BetweenUsers(link.Fact.Scope.Owner, link.Owner) {
		return false
	}
	own, err := r.E.Compare.OwnAgainst(ctx, *link)
	if err != nil {
		r.Skip("shared", err)
	}
	return err != nil || len(own) > 0
}
