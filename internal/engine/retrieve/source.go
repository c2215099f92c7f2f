package retrieve

import (
	"cmp"
	"context"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Source searches and reads the memory that a question may use.
type Source struct {
	Retriever    *Retriever
	Question     Question
	Now          time.Time
	Degraded     []string // names of skipped parts, with reasons
	hasChatState bool     // waitForChatState has set the values of ChatState

	shownCore       map[string]bool // ids of core facts in earlier blocks
	shownCoreTokens int             // size of shownCore in tokens

	vectorCached bool                     // the question's vector was cached
	pastMemories map[string]memory.Memory // by id, for a question about the past: memory at that time
}

// RecordSkip records that a part of recall was skipped, and why.
func (r *Source) RecordSkip(part string, err error) {
	r.Degraded = append(r.Degraded, part+": "+err.Error())
}

// RunPart runs an optional part of recall. A panic is recorded as a skipped part.
func (r *Source) RunPart(name string, run func()) {
	if err := core.CatchPanic(r.Retriever.Core, func() error { run(); return nil }); err != nil {
		r.RecordSkip(name, err)
	}
}

// waitForChatState waits for the request's [ChatState], and copies it to the question.
func (r *Source) waitForChatState() {
	if r.Question.ChatState != nil && !r.hasChatState {
		chatState := r.Question.ChatState()
		r.Question.AskingConversation, r.Question.ExcludeIDs, r.Question.ReplacedTurns, r.hasChatState = chatState.Conversation, chatState.ExcludeIDs, chatState.ReplacedTurns, true
		r.shownCore, r.shownCoreTokens = chatState.ShownCore, chatState.ShownCoreTokens
	}
}

// searchKinds returns the kinds to search; an empty list means all.
func (r *Source) searchKinds() []memory.Kind {
	if len(r.Question.Kinds) == 0 && r.Retriever.Opts.Recall.NoTurns && r.recallRulesApply() {
		return []memory.Kind{memory.KindFact, memory.KindSummary}
	}
	return r.Question.Kinds
}

// relevanceScale returns the measure and the threshold of relevance for the current embedder.
func (r *Source) relevanceScale() core.RelevanceScale {
	if r.Retriever.Opts.LexicalScale != nil && core.IsLexical(r.Retriever.Embedder) {
		return *r.Retriever.Opts.LexicalScale
	}
	return core.RelevanceScale{Measure: r.Retriever.Opts.Recall.Measure, Threshold: r.Retriever.Opts.ScoreThreshold}
}

// BuildSearch returns the search for a question: only by words if the embedder fails or is too slow.
func (r *Source) BuildSearch(ctx context.Context, query recall.Query) memory.Search {
	s := memory.Search{
		Text:         query.SearchText,
		TermWeights:  query.TermWeights,
		Kinds:        r.searchKinds(),
		Category:     r.Question.Category,
		Tag:          r.Question.Tag,
		Conversation: r.Question.Conversation,
		ExcludedIDs:  r.Question.ExcludeIDs,
		Now:          r.Now,
		Limit:        Candidates + min(r.Question.CarriedCount, maxCarried),
		WordsFirst:   core.IsLexical(r.Retriever.Embedder) && r.relevanceScale().Measure == recall.Fitted,
	}
	vector, err := r.embed(ctx, query.EmbedText)
	if err == nil {
		s.Vector, s.PreferVectors = vector, r.relevanceScale().Measure != recall.Fitted
	} else {
		r.RecordSkip("embedder", err)
	}
	if !core.IsLexical(r.Retriever.Embedder) {
		r.Retriever.Metrics.CountQuestion("embedder", err == nil, r.Retriever.Now())
	}
	return s
}

// embed returns a question's vector. It waits for the embedder only within the embedder's time limit.
func (r *Source) embed(ctx context.Context, question string) ([]float32, error) {
	_, rerankerExtra := r.Retriever.extraTimes()
	var limit time.Duration
	if core.IsRemote(r.Retriever.Embedder) {
		limit = core.CompareTimeout
	}
	ctx, cancel := contextWithReserve(ctx, r.Retriever.deadlineShare(embedReserve-searchReserve)+rerankerExtra, limit)
	defer cancel()
	embedAs := cmp.Or(r.Retriever.Opts.Recall.EmbedAs, memory.AsQuestion)
	c, ok := r.Retriever.Embedder.(interface {
		Knows(memory.EmbedAs, string) bool
	})
	cached := ok && c.Knows(embedAs, question)
	r.vectorCached = cached
	began := time.Now()
	defer r.Retriever.Metrics.ObserveStage("embed", began)
	vectors, err := core.Async(r.Retriever.Core, func() ([][]float32, error) {
		vectors, err := r.Retriever.Embedder.Embed(ctx, embedAs, question)
		if !cached {
			r.Retriever.embedTimes.add(time.Since(began))
		}
		return vectors, err
	})(ctx)
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// Search queries the resident index or, for a past time, an index built for that time.
func (r *Source) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	defer r.Retriever.Metrics.ObserveStage("search", time.Now())
	switch {
	case r.Question.At != (memory.At{}):
		return r.searchPast(ctx, s)
	case r.Question.Scope.Conversation != "":
		return r.searchIsolated(ctx, s)
	case r.Retriever.Opts.Recall.Reach == ReachConversation && r.Question.AskingConversation != "" && r.recallRulesApply() && r.Question.Conversation == "":
		return r.searchConversation(ctx, s)
	}
	return r.Retriever.Searcher.Search(ctx, s)
}
