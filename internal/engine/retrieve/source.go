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
	E        *Retriever
	Q        Question
	Now      time.Time
	Degraded []string
	isPlaced bool // the values of ChatState are set

	shownCore   map[string]bool // ids of core facts in earlier blocks
	shownTokens int             // size of these facts in tokens

	vector  bool                     // the question's vector was cached
	history map[string]memory.Memory // by id, for a question about the past: memory at that time
}

// RecordSkip records that a part of recall was skipped, and why.
func (r *Source) Skip(part string, err error) {
	r.Degraded = append(r.Degraded, part+": "+err.Error())
}

// RunPart runs an optional part of recall. A panic is recorded as a skipped part.
func (r *Source) Part(name string, do func()) {
	if err := core.Guarded(r.E.Core, func() error { do(); return nil }); err != nil {
		r.Skip(name, err)
	}
}

// waitForChatState waits for the request's conversation and the memories in the request.
func (r *Source) placed() {
	if r.Q.Place != nil && !r.isPlaced {
		place := r.Q.Place()
		r.Q.In, r.Q.Exclude, r.Q.Replaced, r.isPlaced = place.In, place.Exclude, place.Replaced, true
		r.shownCore, r.shownTokens = place.Core, place.CoreTokens
	}
}

// searchKinds returns the kinds to search; an empty list means all.
func (r *Source) kinds() []memory.Kind {
	if len(r.Q.Kinds) == 0 && r.E.Opts.Recall.NoTurns && r.rulesApply() {
		return []memory.Kind{memory.KindFact, memory.KindSummary}
	}
	return r.Q.Kinds
}

// relevanceScale returns the scale of the current embedder.
func (r *Source) scale() core.Scale {
	if r.E.Opts.Words != nil && core.OfWords(r.E.Embedder) {
		return *r.E.Opts.Words
	}
	return core.Scale{Measure: r.E.Opts.Recall.Measure, Threshold: r.E.Opts.Threshold}
}

// BuildSearch returns the search for a question: only by words if the embedder fails or is too slow.
func (r *Source) BuildSearch(ctx context.Context, query recall.Query) memory.Search {
	s := memory.Search{
		Text:         query.Text,
		Weights:      query.Weights,
		Kinds:        r.kinds(),
		Category:     r.Q.Category,
		Tag:          r.Q.Tag,
		Conversation: r.Q.Conversation,
		Exclude:      r.Q.Exclude,
		Now:          r.Now,
		Limit:        Candidates + min(r.Q.Carries, maxCarried),
		WordsFirst:   core.OfWords(r.E.Embedder) && r.scale().Measure == recall.Fitted,
	}
	vector, err := r.embed(ctx, query.Near)
	if err == nil {
		s.Vector, s.ByVector = vector, r.scale().Measure != recall.Fitted
	} else {
		r.Skip("embedder", err)
	}
	if !core.OfWords(r.E.Embedder) {
		r.E.Metrics.ModelAsked("embedder", err == nil, r.E.Now())
	}
	return s
}

// embed returns a question's vector. It waits for the embedder only within the embedder's time limit.
func (r *Source) embed(ctx context.Context, question string) ([]float32, error) {
	_, reranker := r.E.extra()
	var most time.Duration
	if core.Remote(r.E.Embedder) {
		most = core.ComparingTime
	}
	ctx, cancel := contextBefore(ctx, r.E.share(embedLeaves-searchLeaves)+reranker, most)
	defer cancel()
	as := cmp.Or(r.E.Opts.Recall.EmbedAs, memory.AsQuestion)
	c, ok := r.E.Embedder.(interface {
		Knows(memory.EmbedAs, string) bool
	})
	cached := ok && c.Knows(as, question)
	r.vector = cached
	began := time.Now()
	defer r.E.Metrics.StageEnded("embed", began)
	vectors, err := core.Async(r.E.Core, func() ([][]float32, error) {
		vectors, err := r.E.Embedder.Embed(ctx, as, question)
		if !cached {
			r.E.embeds.see(time.Since(began))
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
	defer r.E.Metrics.StageEnded("search", time.Now())
	switch {
	case r.Q.At != (memory.At{}):
		return r.searchPast(ctx, s)
	case r.Q.Scope.Conversation != "":
		return r.searchApart(ctx, s)
	case r.E.Opts.Recall.Reach == ReachConversation && r.Q.In != "" && r.rulesApply() && r.Q.Conversation == "":
		return r.searchConversation(ctx, s)
	}
	return r.E.Searcher.Search(ctx, s)
}
