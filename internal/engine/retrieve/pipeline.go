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
	Scope              memory.Scope
	Text               string
	IsChat             bool          // the text is a chat message, which may need no memory; false: an explicit search
	TopK               *int          // nil uses the setting
	ScoreThreshold     *float64      // nil uses the setting
	RecencyWeight      *float64      // nil uses the setting
	Kinds              []memory.Kind // kinds of memories to return; empty: all
	Category           string
	Tag                string
	Conversation       string          // only turns of this conversation and facts from it; "": no filter
	ExcludeIDs         map[string]bool // ids of memories that are not returned
	RequestTexts       []string        // texts of the request; memories in them are not repeated
	At                 memory.At
	Budget             int              // maximum size of the hits, in tokens; 0: unlimited
	ReplacedTurns      map[string]bool  // ids of turns that the request replaces; facts learned only from these turns are omitted
	ChatState          func() ChatState // finds a chat's state concurrently; may be nil
	CarriedCount       int              // number of memories that ChatState may exclude
	AskingConversation string           // id of the asking conversation, for the trace
	TextlessTrace      bool             // the trace contains no text
	Untraced           bool             // [Retriever.Recall] stores no trace
	API                string           // name of the API, for the trace

	// WithCore makes the block begin with core facts. It is set for a model's prompt.
	WithCore bool
}

// ChatState is the conversation of a chat's question, and the memories that the chat already contains.
type ChatState struct {
	Conversation              string // id of the conversation
	ExcludeIDs, ReplacedTurns map[string]bool

	// The content of earlier blocks, as in [recall.RenderOptions].
	HasEarlierBlock bool
	IsShown         func(recall.Line, string) bool
	ShownCore       map[string]bool // core facts of earlier blocks
	ShownCoreTokens int             // size of ShownCore in tokens
}

// Result is the memories that answer a question, best first.
type Result struct {
	Hits     []memory.Hit
	TraceID  string   // id of the trace; "": no trace was stored
	Degraded []string // names of skipped parts, with reasons
	Misspelt []memory.Misspelt
	Block    string     // set, like Pause, only by [exchange.Exchanges.RecallBlock]
	Pause    core.Pause // the owner's pause
}

const (
	// Candidates is the number of candidates that a search returns.
	Candidates = recall.CandidateCount

	// extraCandidates is the number of memories read beyond the requested number, since some are merged or
	// were deleted.
	extraCandidates = 8

	// maxCarried bounds a chat's extra candidates, since the request may already contain some candidates.
	maxCarried = 100
)

// Recall answers a question from memory. It skips a part that fails and records the part in Degraded. It
// returns an error only if no search works.
func (e *Retriever) Recall(ctx context.Context, q Question) (Result, error) {
	started := e.Now()
	if e.IsolatesConversations() && q.Conversation != "" && q.At == (memory.At{}) { // search the conversation's scope, which includes the user's own facts
		q.Scope.Conversation, q.Conversation = q.Conversation, ""
	}
	defer e.Idle.BeginQuestion()()
	pipeline := Pipeline{Source: Source{Retriever: e, Question: q, Now: memory.Time(started)}}
	err := pipeline.run(ctx)
	e.Metrics.ObserveRecall(e.Now().Sub(started), pipeline.Degraded...)
	result := Result{Hits: pipeline.Hits, Degraded: pipeline.Degraded, Misspelt: recall.WholeWordCorrections(pipeline.Misspelt, pipeline.Hits)}
	if !q.Untraced {
		result.TraceID = core.NewID()
		pipeline.StoreTrace(result.TraceID, "", e.Now().Sub(started))
	}
	return result, err
}

// Prepare recalls memory for a prompt. For a chat's question it discards results after a deadline. The
// caller stores the trace.
func (e *Retriever) Prepare(ctx context.Context, q Question) (prepared PromptMemory, pipeline *Pipeline, elapsed time.Duration) {
	started := e.Now()
	defer e.Idle.BeginQuestion()()
	deadline := e.Deadline()
	if q.IsChat {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	pipeline = &Pipeline{Source: Source{Retriever: e, Question: q, Now: memory.Time(started)}}
	searched := *pipeline
	block, err := core.Async(e.Core, func() (string, error) { return searched.recallBlock(ctx), nil })(ctx)
	if err == nil {
		pipeline = &searched
	} else {
		pipeline.RecordSkip("deadline", fmt.Errorf("recall took longer than %v", deadline))
	}
	pipeline.waitForChatState()
	elapsed = e.Now().Sub(started)
	if e.Metrics != nil {
		e.Metrics.ObserveCore(pipeline.OpeningCore.Tokens())
	}
	e.Metrics.ObserveRecall(elapsed, pipeline.Degraded...)
	return PromptMemory{Block: block, Hits: pipeline.Hits, Core: pipeline.OpeningCore, TraceID: core.NewID(), WasRead: true, PendingCount: pipeline.pendingCount, TextlessTrace: pipeline.HasTextlessTrace()}, pipeline, elapsed
}

// recallBlock recalls and renders a block. A part that fails or panics is skipped.
func (r *Pipeline) recallBlock(ctx context.Context) (text string) {
	err := core.CatchPanic(r.Retriever.Core, func() error { text = r.searchAndRender(ctx); return nil })
	if err != nil {
		r.RecordSkip("recall", err)
		r.Hits = nil // no block contains the hits
	}
	return text
}

func (r *Pipeline) searchAndRender(ctx context.Context) string {
	var openingCore recall.Core
	source := Source{Retriever: r.Retriever, Question: r.Question, Now: r.Now} // a separate value, since r is used concurrently
	var reading sync.WaitGroup
	reading.Go(func() {
		var err error
		if r.pendingCount, r.pendingReplacements, err = r.Retriever.Compare.PendingReplacements(ctx, r.Question.Scope.Owner); err != nil {
			r.Retriever.Log.Warn("the number of pending facts is unknown", "err", err)
		}
		defer r.Retriever.Metrics.ObserveStage("core", time.Now())
		source.RunPart("core", func() { openingCore = source.openingFacts(ctx, r.pendingReplacements) })
	})
	r.readOpening = func() recall.Core { reading.Wait(); return openingCore }
	defer reading.Wait()
	err := r.run(ctx)
	r.chooseOpening(nil)
	if err != nil {
		r.RecordSkip("search", err)
	}
	r.Degraded = append(r.Degraded, source.Degraded...)
	r.RunPart("questions", func() { r.pairAnswers(ctx) })
	opts := r.Retriever.RenderOptions(false)
	opts.DisputedBy = r.pendingReplacements
	if r.Question.ChatState != nil {
		chatState := r.Question.ChatState()
		opts.HasEarlierBlock, opts.IsShown = chatState.HasEarlierBlock, chatState.IsShown
	}
	defer r.Retriever.Metrics.ObserveStage("render", time.Now())
	block := recall.Render(r.OpeningCore, r.Hits, opts)
	r.Lines = block.Lines
	r.OpeningCore, r.coreOverflow = r.coreWithoutHits(r.OpeningCore), r.coreWithoutHits(r.coreOverflow)
	r.dedupeDropped()
	return block.Text
}

// Pipeline is the recall of one question, with its intermediate results.
type Pipeline struct {
	Source

	askedText           string                // the part of the text that is a question
	FoundCount          int                   // number of memories found by the searches
	CutCandidates       []recall.CutCandidate // candidates that ranking cut
	repeatDetector      *recall.RepeatFilter  // detects repetitions of the question
	droppedIDs          map[string]bool       // ids of hits that repeat the question or that the request contains
	DroppedHits         []recall.DroppedHit   // hits that were dropped after ranking
	Hits                []memory.Hit
	OpeningCore         recall.Core            // core facts at the beginning of the block, before the hits
	coreOverflow        recall.Core            // core facts that do not fit into the block
	readOpening         func() recall.Core     // reads the possible core facts; nil after chooseOpening
	pendingReplacements map[string]memory.Fact // pending replacements by the id of the replaced fact
	Lines               []recall.Line          // lines of the block
	pendingCount        int                    // number of pending facts
	Misspelt            []memory.Misspelt
	rerankCounts        [2]int // number of candidates that the reranker scored, and number that were sent to it
}

// run recalls the question: query, search, rank, hydrate and fit.
func (r *Pipeline) run(ctx context.Context) error {
	if !r.Question.Scope.Owner.Valid() {
		return memory.Errorf(memory.Invalid, "a question needs an owner")
	}
	topK := r.Retriever.Opts.DefaultTopK(r.Question.IsChat)
	if r.Question.TopK != nil {
		topK = *r.Question.TopK
	}
	if topK <= 0 {
		return nil
	}
	query := r.Query()
	r.askedText = query.OwnText
	if query.IsBroad && r.recallRulesApply() {
		err := core.CatchPanic(r.Retriever.Core, func() error { return r.listFacts(ctx, topK) })
		if err == nil {
			return nil
		}
		r.RecordSkip("list", err)
	}
	err := core.CatchPanic(r.Retriever.Core, func() error { return r.recallBySearch(ctx, query, topK) })
	if !r.shouldUseRecent(ctx, err) {
		return err
	}
	if recentErr := core.CatchPanic(r.Retriever.Core, func() error { return r.recallRecent(ctx, topK) }); recentErr != nil {
		r.RecordSkip("recent", recentErr)
		return err
	}
	if err != nil {
		r.RecordSkip("search", err)
	}
	return nil
}

// recallBySearch recalls by search, or returns all facts of a user who has few facts.
func (r *Pipeline) recallBySearch(ctx context.Context, query recall.Query, topK int) error {
	ctx, cancel := contextWithReserve(ctx, r.Retriever.deadlineShare(searchReserve), 0)
	defer cancel()
	if rules := r.Retriever.Opts.Recall; rules.SmallSetSize > 0 || rules.Reach == ReachConversation {
		r.waitForChatState()
	}
	hits, isSmallSet := r.smallSet(ctx)
	r.FoundCount = len(hits)
	extraScopes := r.extraScopes(ctx)
	if !isSmallSet || len(extraScopes) > 0 {
		s := r.BuildSearch(ctx, query)
		if !isSmallSet {
			s.Scopes = []memory.Scope{r.Question.Scope}
		}
		ownScopes := s.Scopes
		s.Scopes = slices.Concat(ownScopes, extraScopes)
		ranked, err := r.searchAndRank(ctx, query, s, topK)
		if err != nil && len(extraScopes) > 0 {
			r.RecordSkip("bootstrap", err)
			s.Scopes = ownScopes
			ranked, err = r.searchAndRank(ctx, query, s, topK)
		}
		if err != nil {
			return err
		}
		hits = append(hits, ranked...)
	}
	if isSmallSet {
		topK = r.hitLimit(topK, len(hits))
	}
	r.fitToBudget(ctx, hits, topK)
	if r.pastMemories == nil {
		r.RunPart("successors", func() { r.addReplacements(ctx) })
		r.RunPart("predecessors", func() { r.addPredecessors(ctx) })
	}
	return nil
}

// maxSearches bounds the searches for one question. A search is repeated while more than half of the
// candidates are dropped, since a question asked a hundred times would displace its answer.
const maxSearches = 4

// searchAndRank returns the hits of a search, best first, without dropped hits: see dropReason.
func (r *Pipeline) searchAndRank(ctx context.Context, query recall.Query, s memory.Search, topK int) ([]memory.Hit, error) {
	s.Limit = r.Retriever.Opts.Recall.CandidateLimit(s.Limit, topK)
	for attempt := 1; ; attempt++ {
		var candidates []memory.Candidate
		err := core.CatchPanic(r.Retriever.Core, func() (err error) { candidates, err = r.Search(ctx, s); return err })
		if err != nil {
			return nil, err
		}
		if r.chooseOpening(candidates) || r.Question.ChatState != nil && !r.hasChatState {
			r.waitForChatState()
			candidates = slices.DeleteFunc(candidates, func(c memory.Candidate) bool { return r.Question.ExcludeIDs[c.ID] })
			candidates = candidates[:min(len(candidates), Candidates)]
		}
		r.FoundCount += len(candidates)
		r.Misspelt = recall.Corrections(candidates)
		droppedBefore := len(r.droppedIDs)
		hits, err := r.rankBest(ctx, query, candidates, topK)
		index.Recycle(candidates) // ranking has copied the candidates
		if err != nil || attempt == maxSearches || 2*(len(r.droppedIDs)-droppedBefore) < s.Limit {
			return hits, err
		}
		s.ExcludedIDs = maps.Clone(s.ExcludedIDs)
		if s.ExcludedIDs == nil {
			s.ExcludedIDs = map[string]bool{}
		}
		maps.Copy(s.ExcludedIDs, r.droppedIDs)
	}
}

// rankBest ranks candidates. With a reranker, it ranks them again by the reranker's scores.
func (r *Pipeline) rankBest(ctx context.Context, query recall.Query, candidates []memory.Candidate, topK int) ([]memory.Hit, error) {
	opts := r.rankOptions(topK)
	if r.Retriever.Reranker != nil && len(candidates) > 0 {
		firstOpts := beforeReranking(opts)
		if firstOpts.Limit, firstOpts.MinRelevance = MaxReranked, new(float64); r.Retriever.Opts.Recall.CandidatesPerHit > 0 { // few enough to rerank all
			firstOpts.Limit = len(candidates)
		}
		hits, err := r.rankAndRead(ctx, query, &candidates, &firstOpts)
		if err != nil {
			return nil, err
		}
		opts.RerankScores = r.rerank(ctx, query, hits)
		opts.MinAnswerRelevance, opts.IsChat = firstOpts.MinAnswerRelevance, opts.IsChat && firstOpts.MinAnswerRelevance == nil
	}
	if len(opts.RerankScores) == 0 && opts.Measure == recall.Reranker {
		r.setMeasure(&opts, recall.Fitted)
	}
	return r.rankAndRead(ctx, query, &candidates, &opts)
}

// rankOptions returns the options for ranking.
func (r *Pipeline) rankOptions(topK int) recall.RankOptions {
	opts := recall.RankOptions{Limit: topK + extraCandidates, MinRelevance: r.Question.ScoreThreshold, RecencyWeight: r.Question.RecencyWeight}
	scale := r.relevanceScale()
	if opts.MinRelevance == nil && scale.Threshold >= 0 {
		opts.MinRelevance = &scale.Threshold
	}
	if opts.RecencyWeight == nil {
		opts.RecencyWeight = &r.Retriever.Opts.RecencyWeight
	}
	opts.BackgroundCosine, opts.IsWordBased = backgroundCosine(r.Retriever.Embedder), core.IsLexical(r.Retriever.Embedder)
	r.Retriever.Opts.Recall.ApplyTo(&opts)
	opts.Measure = scale.Measure
	opts.IsChat = r.Question.IsChat && r.recallRulesApply()
	r.setMeasure(&opts, scale.Measure)
	return opts
}

// repeatedThreshold is the threshold for a repeated question: half the default, since earlier copies
// of the question make its words common.
var repeatedThreshold = recall.DefaultMinAnswerRelevance / 2

// rankAndRead ranks candidates and reads the best. It ranks again without dropped candidates, which would
// raise the threshold for the others. The threshold is lower if an earlier copy of the question was
// among the best.
func (r *Pipeline) rankAndRead(ctx context.Context, query recall.Query, candidates *[]memory.Candidate, opts *recall.RankOptions) ([]memory.Hit, error) {
	for {
		ranked, cut := r.rankByMeasure(query, *candidates, *opts)
		r.CutCandidates = cut
		hits, err := r.hydrateAllOwners(ctx, ranked)
		if err != nil {
			return nil, err
		}
		droppedBefore := len(r.droppedIDs)
		for i, h := range hits {
			if r.dropReason(h) == "echo" && h.Memory.Turn.Role == memory.RoleUser && i < opts.Limit-extraCandidates {
				opts.MinAnswerRelevance, opts.IsChat = &repeatedThreshold, false
			}
		}
		if len(r.droppedIDs) == droppedBefore {
			return hits, nil
		}
		*candidates = slices.DeleteFunc(*candidates, func(c memory.Candidate) bool { return r.droppedIDs[c.ID] })
	}
}

// setMeasure sets the measure for ranking. A configured threshold applies only to the configured measure.
// With the fitted measure, the threshold replaces the criterion for chats.
func (r *Pipeline) setMeasure(opts *recall.RankOptions, m recall.RelevanceMeasure) {
	if opts.Measure != m && opts.MinRelevance != r.Question.ScoreThreshold {
		opts.MinRelevance = nil
	}
	opts.Measure = m
	opts.IsChat = opts.IsChat && (m != recall.Fitted || opts.MinRelevance == nil)
}

// rankByMeasure ranks candidates. If the measure is the cosine, it ranks candidates with a vector by
// cosine, and candidates without a vector by words.
func (r *Pipeline) rankByMeasure(query recall.Query, candidates []memory.Candidate, opts recall.RankOptions) (ranked []memory.Candidate, cut []recall.CutCandidate) {
	if opts.Measure != recall.Cosine {
		return recall.Rank(query, candidates, opts, r.Now)
	}
	hasNoVector := func(c memory.Candidate) bool { return c.Measures.Vector == 0 }
	withVector := slices.DeleteFunc(slices.Clone(candidates), hasNoVector)
	ranked, cut = recall.Rank(query, withVector, opts, r.Now)
	if len(withVector) == len(candidates) {
		return ranked, cut
	}
	r.setMeasure(&opts, recall.Fitted)
	rankedByWords, cutByWords := recall.Rank(query, slices.DeleteFunc(slices.Clone(candidates), func(c memory.Candidate) bool { return !hasNoVector(c) }), opts, r.Now)
	ranked, cut = append(ranked, rankedByWords...), append(cut, cutByWords...)
	slices.SortStableFunc(ranked, func(a, b memory.Candidate) int { return cmp.Compare(b.Score, a.Score) })
	return ranked[:min(len(ranked), opts.Limit)], cut
}

// beforeReranking returns the options for ranking before a reranker.
func beforeReranking(opts recall.RankOptions) recall.RankOptions {
	if opts.Measure == recall.Reranker {
		fullWeight := 1.0
		opts.Measure, opts.Lambda = recall.Cosine, &fullWeight
	}
	return opts
}

// fitToBudget reduces the hits to the budget. It drops hits that the request contains, and shared
// facts that contradict the user's own facts.
func (r *Pipeline) fitToBudget(ctx context.Context, hits []memory.Hit, topK int) {
	var remaining []memory.Hit
	for _, h := range r.withReasonTurns(ctx, hits) {
		if r.requestContains(h.Memory) {
			r.recordDropped(h, "carried")
		} else {
			remaining = append(remaining, h)
		}
	}
	var dropped []recall.DroppedHit
	r.Hits, dropped = recall.Fit(remaining, recall.FitOptions{
		TopK: topK, Budget: cmp.Or(r.Question.Budget, math.MaxInt), Question: r.askedText,
		IsContradicted: func(h memory.Hit) bool { return r.isContradicted(ctx, h.Memory.Link) },
	})
	r.DroppedHits = append(r.DroppedHits, dropped...)
}

// maxReasoned is the number of facts whose source turns are added when a question asks for a reason.
const maxReasoned = 3

// withReasonTurns inserts source turns after the first facts when the question asks why. Ranking prefers
// facts, but these rarely contain the reason.
func (r *Pipeline) withReasonTurns(ctx context.Context, hits []memory.Hit) []memory.Hit {
	if r.pastMemories != nil || !recall.AsksWhy(r.askedText) {
		return hits
	}
	out, remaining := make([]memory.Hit, 0, len(hits)+maxReasoned), maxReasoned
	for _, h := range hits {
		out = append(out, h)
		if h.Memory.Fact == nil || h.Memory.Link != nil || remaining == 0 || h.Why.Get("own") == 0 {
			continue
		}
		remaining--
		var missing []string
		for _, id := range h.Memory.Fact.Provenance.Turns {
			if !r.Question.ExcludeIDs[id] && !slices.ContainsFunc(hits, func(other memory.Hit) bool { return other.Memory.ID() == id }) {
				missing = append(missing, id)
			}
		}
		if len(missing) == 0 {
			continue
		}
		turns, err := r.Retriever.Store.Get(ctx, r.Question.Scope.Owner, missing...)
		if err != nil {
			r.RecordSkip("reasons", err)
			return hits
		}
		for _, m := range turns {
			if m.Turn != nil && m.Visible(r.Now) && m.Turn.Informative() {
				out = append(out, memory.Hit{Memory: m, Score: h.Score, Why: append(slices.Clone(h.Why), memory.ScorePart{Name: "reason", Value: 1})})
			}
		}
	}
	return out
}

// isContradicted reports whether a fact shared by another user contradicts one of the user's own facts,
// or cannot be checked. Questions about the past are not checked.
func (r *Pipeline) isContradicted(ctx context.Context, link *memory.Link) bool {
	if r.pastMemories != nil || link == nil || !share.IsBetweenUsers(link.Fact.Scope.Owner, link.Owner) {
		return false
	}
	conflicts, err := r.Retriever.Compare.ConflictsWithShared(ctx, *link)
	if err != nil {
		r.RecordSkip("shared", err)
	}
	return err != nil || len(conflicts) > 0
}
