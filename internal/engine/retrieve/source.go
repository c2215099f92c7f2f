package retrieve

import (
	"cmp"
	"context"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Source is what a question is asked of: it searches and reads what the question may see.
type Source struct {
	E        *Retriever
	Q        Question
	Now      time.Time
	Degraded []string
	isPlaced bool // the question has what its Place says

	toldCore   map[string]bool // the facts that the cores of earlier blocks tell
	toldTokens int

	vector  bool                     // the question's was remembered
	history map[string]memory.Memory // what there was, of a question to the past
}

// Skip notes that a part of recall was skipped, and why.
func (r *Source) Skip(part string, err error) {
	r.Degraded = append(r.Degraded, part+": "+err.Error())
}

// Part runs a part of recall without which the others go on: of one that panics it is noted.
func (r *Source) Part(name string, do func()) {
	if err := core.Guarded(r.E.Core, func() error { do(); return nil }); err != nil {
		r.Skip(name, err)
	}
}

// placed waits until the conversation of the request is known, and what it contains already.
func (r *Source) placed() {
	if r.Q.Place != nil && !r.isPlaced {
		place := r.Q.Place()
		r.Q.In, r.Q.Exclude, r.Q.Replaced, r.isPlaced = place.In, place.Exclude, place.Replaced, true
		r.toldCore, r.toldTokens = place.Core, place.CoreTokens
	}
}

// kinds returns the kinds to search; none means all.
func (r *Source) kinds() []memory.Kind {
	if len(r.Q.Kinds) == 0 && r.E.Opts.Recall.NoTurns && r.ruled() {
		return []memory.Kind{memory.KindFact, memory.KindSummary}
	}
	return r.Q.Kinds
}

// scale returns the scale of the embedder as it is now.
func (r *Source) scale() core.Scale {
	if r.E.Opts.Words != nil && core.OfWords(r.E.Embedder) {
		return *r.E.Opts.Words
	}
	return core.Scale{Measure: r.E.Opts.Recall.Measure, Threshold: r.E.Opts.Threshold}
}

// Wanted returns the search to make. Where the embedder fails, or takes longer than it may, the
// search is by words alone.
func (r *Source) Wanted(ctx context.Context, query recall.Query) memory.Search {
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

// embed returns the vector of a question. It does not wait for an embedder beyond the time that
// this may take.
func (r *Source) embed(ctx context.Context, question string) ([]float32, error) {
	_, reranker := r.E.extra()
	var most time.Duration
	if core.Remote(r.E.Embedder) {
		most = core.ComparingTime
	}
	ctx, cancel := before(ctx, r.E.share(embedLeaves-searchLeaves)+reranker, most)
	defer cancel()
	as := cmp.Or(r.E.Opts.Recall.EmbedAs, memory.AsQuestion)
	c, ok := r.E.Embedder.(interface {
		Knows(memory.EmbedAs, string) bool
	})
	known := ok && c.Knows(as, question)
	r.vector = known
	began := time.Now()
	defer r.E.Metrics.StageEnded("embed", began)
	vectors, err := core.Beside(r.E.Core, func() ([][]float32, error) {
		vectors, err := r.E.Embedder.Embed(ctx, as, question)
		if !known {
			r.E.embeds.see(time.Since(began))
		}
		return vectors, err
	})(ctx)
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// Search asks the resident index or, for a time in the past, an index built for that time.
func (r *Source) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	defer r.E.Metrics.StageEnded("search", time.Now())
	switch {
	case r.Q.At != (memory.At{}):
		return r.searchPast(ctx, s)
	case r.Q.Scope.Conversation != "":
		return r.searchApart(ctx, s)
	case r.E.Opts.Recall.Reach == ReachConversation && r.Q.In != "" && r.ruled() && r.Q.Conversation == "":
		return r.searchConversation(ctx, s)
	}
	return r.E.Searcher.Search(ctx, s)
}
