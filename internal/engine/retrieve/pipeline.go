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

// Question is a question to memory, with filters and limits.
type Question struct {
	Scope          memory.Scope
	Text           string
	Chat           bool     // a chat message, which may not need memory; else explicit
	TopK           *int     // nil uses the setting
	ScoreThreshold *float64 // nil uses the setting
	RecencyWeight  *float64 // nil uses the setting
	Kinds          []memory.Kind
	Category       string
	Tag            string
	Conversation   string // only turns of and facts from this conversation; "": no filter
	Exclude        map[string]bool
	Messages       []string // texts of the request; memories in them are not repeated
	At             memory.At
	Budget         int             // in tokens; 0: unlimited
	Replaced       map[string]bool // turns that the request replaces; facts only from them are omitted
	Place          func() Place    // finds a chat's state concurrently; may be nil
	Carries        int             // number of memories that ChatState may exclude
	In             string          // id of the asking conversation, for the trace
	TextlessTrace  bool            // the trace contains no text
	Untraced       bool            // [Retriever.Recall] stores no trace
	Door           string

	// WithCore makes the block begin with core facts. It is set for a model's prompt.
	Core bool
}

// ChatState is the conversation of a chat's question, and the memories that the chat already contains.
type Place struct {
	In                string // id of the conversation
	Exclude, Replaced map[string]bool

	// The content of earlier blocks, as in [recall.RenderOptions].
	Later      bool
	Shown      func(recall.Line, string) bool
	Core       map[string]bool // core facts of earlier blocks
	CoreTokens int             // their size in tokens
}

// Result is the memories that answer a question, best first.
type Found struct {
	Hits     []memory.Hit
	Trace    string   // id of the trace; "": no trace was stored
	Degraded []string // names of skipped parts, with reasons
	Misspelt []memory.Misspelt
	Block    string // set, like Pause, only by [exchange.Exchanges.RecallBlock]
	Pause    core.Pause
}

const (
	// Candidates is the number of candidates that a search returns.
	Candidates = recall.Candidates

	// extraCandidates is the number of memories that are read in addition, since some are merged or
	// were deleted.
	extraCandidates = 8

	// maxCarried bounds a chat's extra candidates, since the request may already contain some candidates.
	maxCarried = 100
)

// Recall answers a question from memory. It skips a part that fails and records the part in Degraded. It
// returns an error only if no search works.
func (e *Retriever) Recall(ctx context.Context, q Question) (Found, error) {
	started := e.Now()
	if e.Apart() && q.Conversation != "" && q.At == (memory.At{}) { // adds the user's own facts
		q.Scope.Conversation, q.Conversation = q.Conversation, ""
	}
	defer e.Idle.Begin()()
	r := Pipeline{Source: Source{E: e, Q: q, Now: memory.Time(started)}}
	err := r.run(ctx)
	e.Metrics.Recalled(e.Now().Sub(started), r.Degraded...)
	found := Found{Hits: r.Hits, Degraded: r.Degraded, Misspelt: recall.ShownCorrections(r.Misspelt, r.Hits)}
	if !q.Untraced {
		found.Trace = core.NewID()
		r.Trace(found.Trace, "", e.Now().Sub(started))
	}
	return found, err
}

// Prepare recalls memory for a prompt. For a chat's question it discards results after a deadline. The
// caller stores the trace.
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
	block, err := core.Async(e.Core, func() (string, error) { return searched.block(ctx), nil })(ctx)
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
	return Prepared{Block: block, Hits: r.Hits, Core: r.Opening, Trace: core.NewID(), Read: true, Pending: r.pending, TextlessTrace: r.HasTextlessTrace()}, r, took
}

// recallBlock recalls and renders a block. A part that fails or panics is skipped.
func (r *Pipeline) block(ctx context.Context) (text string) {
	err := core.Guarded(r.E.Core, func() error { text = r.rendered(ctx); return nil })
	if err != nil {
		r.Skip("recall", err)
		r.Hits = nil // no block contains the hits
	}
	return text
}

func (r *Pipeline) rendered(ctx context.Context) string {
	var standing recall.Core
	source := Source{E: r.E, Q: r.Q, Now: r.Now} // a separate value, since r is used concurrently
	var reading sync.WaitGroup
	reading.Go(func() {
		var err error
		if r.pending, r.disputed, err = r.E.Compare.Disputes(ctx, r.Q.Scope.Owner); err != nil {
			r.E.Log.Warn("the number of pending facts is unknown", "err", err)
		}
		defer r.E.Metrics.StageEnded("core", time.Now())
		source.Part("core", func() { standing = source.openingFacts(ctx, r.disputed) })
	})
	r.readOpening = func() recall.Core { reading.Wait(); return standing }
	defer reading.Wait()
	err := r.run(ctx)
	r.settle(nil)
	if err != nil {
		r.Skip("search", err)
	}
	r.Degraded = append(r.Degraded, source.Degraded...)
	r.Part("questions", func() { r.pairAnswers(ctx) })
	opts := r.E.Rendering(false)
	opts.Disputed = r.disputed
	if r.Q.Place != nil {
		place := r.Q.Place()
		opts.Later, opts.Shown = place.Later, place.Shown
	}
	defer r.E.Metrics.StageEnded("render", time.Now())
	block := recall.Render(r.Opening, r.Hits, opts)
	r.Lines = block.Lines
	r.Opening, r.overflow = r.coreWithoutHits(r.Opening), r.coreWithoutHits(r.overflow)
	r.dedupeDropped()
	return block.Text
}

// Pipeline is the recall of one question, with its intermediate results.
type Pipeline struct {
	Source

	asked       string // the part of the text that is a question
	Found       int
	Cut         []recall.Cut
	repeats     *recall.RepeatFilter // detects repetitions of the question
	droppedIDs  map[string]bool      // ids of hits that repeat the question or that the request contains
	Dropped     []recall.Dropped
	Hits        []memory.Hit
	Opening     recall.Core            // core facts at the beginning of the block, before the hits
	overflow    recall.Core            // core facts that do not fit into the block
	readOpening func() recall.Core     // reads the possible core facts; nil after chooseOpening
	disputed    map[string]memory.Fact // pending replacements by the id of the replaced fact
	Lines       []recall.Line          // lines of the block
	pending     int                    // number of pending facts
	Misspelt    []memory.Misspelt
	reranked    [2]int // numbers of candidates that the reranker read and that it was sent
}

// run recalls the question: query, search, rank, hydrate and fit.
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
	if query.Broad && r.rulesApply() {
		err := core.Guarded(r.E.Core, func() error { return r.list(ctx, topK) })
		if err == nil {
			return nil
		}
		r.Skip("list", err)
	}
	err := core.Guarded(r.E.Core, func() error { return r.find(ctx, query, topK) })
	if !r.usesRecent(ctx, err) {
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

// recallBySearch recalls by search, or returns all facts of a user who has few facts.
func (r *Pipeline) find(ctx context.Context, query recall.Query, topK int) error {
	ctx, cancel := contextBefore(ctx, r.E.share(searchLeaves), 0)
	defer cancel()
	if rules := r.E.Opts.Recall; rules.SmallSet > 0 || rules.Reach == ReachConversation {
		r.placed()
	}
	hits, small := r.smallSet(ctx)
	r.Found = len(hits)
	others := r.pools(ctx)
	if !small || len(others) > 0 {
		s := r.BuildSearch(ctx, query)
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
	r.fitToBudget(ctx, hits, topK)
	if r.history == nil {
		r.Part("successors", func() { r.addReplacements(ctx) })
		r.Part("predecessors", func() { r.addPredecessors(ctx) })
	}
	return nil
}

// repeatSearches bounds the searches for one question. A search is repeated while more than half of the
// candidates are dropped, since a question asked a hundred times would displace its answer.
const repeatSearches = 4

// searchAndRank returns the hits of a search, best first, without dropped hits: see dropReason.
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
		r.Misspelt = recall.CorrectionsOf(cands)
		left := len(r.droppedIDs)
		hits, err := r.rankBest(ctx, query, cands, topK)
		index.Done(cands) // ranking has copied the candidates
		if err != nil || tries == repeatSearches || 2*(len(r.droppedIDs)-left) < s.Limit {
			return hits, err
		}
		s.Exclude = maps.Clone(s.Exclude)
		if s.Exclude == nil {
			s.Exclude = map[string]bool{}
		}
		maps.Copy(s.Exclude, r.droppedIDs)
	}
}

// rankBest ranks candidates. With a reranker, it ranks them again by the reranker's scores.
func (r *Pipeline) rankBest(ctx context.Context, query recall.Query, cands []memory.Candidate, topK int) ([]memory.Hit, error) {
	opts := r.options(topK)
	if r.E.Reranker != nil && len(cands) > 0 {
		first := unreranked(opts)
		if first.Limit, first.Threshold = Reranked, new(float64); r.E.Opts.Recall.Each > 0 { // few enough to rerank all
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

// rankOptions returns the options for ranking.
func (r *Pipeline) options(topK int) recall.Options {
	opts := recall.Options{Limit: topK + extraCandidates, Threshold: r.Q.ScoreThreshold, Recency: r.Q.RecencyWeight}
	scale := r.scale()
	if opts.Threshold == nil && scale.Threshold >= 0 {
		opts.Threshold = &scale.Threshold
	}
	if opts.Recency == nil {
		opts.Recency = &r.E.Opts.RecencyWeight
	}
	opts.Background, opts.WordBased = background(r.E.Embedder), core.OfWords(r.E.Embedder)
	r.E.Opts.Recall.Ranking(&opts)
	opts.Measure = scale.Measure
	opts.Chat = r.Q.Chat && r.rulesApply()
	r.measure(&opts, scale.Measure)
	return opts
}

// repeatedThreshold is the threshold for a repeated question: half the default, since earlier copies
// of the question make its words common.
var repeatedThreshold = recall.DefaultAnswered / 2

// rankAndRead ranks candidates and reads the best. It ranks again without dropped candidates, which would
// raise the threshold for the others. The threshold is lower if an earlier copy of the question was
// among the best.
func (r *Pipeline) rank(ctx context.Context, query recall.Query, cands *[]memory.Candidate, opts *recall.Options) ([]memory.Hit, error) {
	for {
		kept, cut := r.byMeasure(query, *cands, *opts)
		r.Cut = cut
		hits, err := r.read(ctx, kept)
		if err != nil {
			return nil, err
		}
		left := len(r.droppedIDs)
		for i, h := range hits {
			if r.dropReason(h) == "echo" && h.Memory.Turn.Role == memory.RoleUser && i < opts.Limit-extraCandidates {
				opts.Answered, opts.Chat = &repeatedThreshold, false
			}
		}
		if len(r.droppedIDs) == left {
			return hits, nil
		}
		*cands = slices.DeleteFunc(*cands, func(c memory.Candidate) bool { return r.droppedIDs[c.ID] })
	}
}

// setMeasure sets the measure for ranking. A configured threshold applies only to the configured
// measure, for which it is the only criterion.
func (r *Pipeline) measure(opts *recall.Options, m recall.Measure) {
	if opts.Measure != m && opts.Threshold != r.Q.ScoreThreshold {
		opts.Threshold = nil
	}
	opts.Measure = m
	opts.Chat = opts.Chat && (m != recall.Fitted || opts.Threshold == nil)
}

// rankByMeasure ranks candidates. If the measure is the cosine, it ranks candidates with a vector by
// cosine, and candidates without a vector by words.
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

// beforeReranking returns the options for ranking before a reranker.
func unreranked(opts recall.Options) recall.Options {
	if opts.Measure == recall.Reranker {
		whole := 1.0
		opts.Measure, opts.Lambda = recall.Cosine, &whole
	}
	return opts
}

// fitToBudget reduces the hits to the budget. It drops hits that the request contains, and shared
// facts that contradict the user's own facts.
func (r *Pipeline) fitToBudget(ctx context.Context, hits []memory.Hit, topK int) {
	var fresh []memory.Hit
	for _, h := range r.withReasons(ctx, hits) {
		if r.requestContains(h.Memory) {
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

// maxReasoned is the number of facts whose source turns are added when a question asks for a reason.
const maxReasoned = 3

// withReasons inserts the source turns after the first facts when the question asks why, since ranking
// prefers facts, which rarely contain the reason.
func (r *Pipeline) withReasons(ctx context.Context, hits []memory.Hit) []memory.Hit {
	if r.history != nil || !recall.AsksWhy(r.asked) {
		return hits
	}
	out, left := make([]memory.Hit, 0, len(hits)+maxReasoned), maxReasoned
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

// isContradicted reports whether a fact shared by another user contradicts one of the user's own facts,
// or cannot be checked. Questions about the past are not checked.
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
