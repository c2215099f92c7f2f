package retrieve

import (
	"cmp"
	"context"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// SimilarityPart is the part of a hit's score to which a query's threshold applies.
const SimilarityPart = "similarity"

// Similarity returns a hit's similarity to the query, from 0 to 1.
func Similarity(h memory.Hit) float64 { return h.Why.Get(SimilarityPart) }

// FindSimilarTurns finds turns above the threshold, most similar first, within the configured reach. It
// returns the dimensions of the query's embedding.
func (r *Pipeline) FindSimilarTurns(ctx context.Context, topK int) (dims int, err error) {
	query := r.Query()
	s := r.BuildSearch(ctx, query)
	s.Scopes, s.Kinds = []memory.Scope{r.Question.Scope}, []memory.Kind{memory.KindTurn}
	noThreshold := 0.0
	r.Question.ScoreThreshold = &noThreshold // the question's own threshold has another scale
	hits, err := r.searchAndRank(ctx, query, s, Candidates)
	if err != nil {
		return len(s.Vector), err
	}
	threshold := r.relevanceScale().Threshold
	if threshold < 0 {
		threshold = recall.DefaultMinRelevance
	}
	byWords := func(h memory.Hit) bool { return core.IsLexical(r.Retriever.Embedder) || h.Why.Get("vector") == 0 }
	for i, x := range Similarities(hits, byWords) {
		minimum := threshold
		if r.relevanceScale().Measure == recall.Fitted && !byWords(hits[i]) {
			minimum = recall.EmbedderCosine(threshold, backgroundCosine(r.Retriever.Embedder)) // on the current model's scale
		}
		if x >= minimum {
			hits[i].Why = append(slices.Clip(hits[i].Why), memory.ScorePart{Name: SimilarityPart, Value: x})
			r.Hits = append(r.Hits, hits[i])
		}
	}
	slices.SortStableFunc(r.Hits, func(a, b memory.Hit) int { return cmp.Compare(Similarity(b), Similarity(a)) })
	r.Hits = r.Hits[:min(topK, len(r.Hits))]
	r.addReplacements(ctx)
	return len(s.Vector), nil
}

// Similarities returns each hit's similarity to the query, from 0 to 1. For hits found by vector it is the
// cosine. For hits found by words it is the probability that the hit answers, multiplied by the ratio of its
// word score to the best word score.
func Similarities(hits []memory.Hit, foundByWords func(memory.Hit) bool) []float64 {
	out := make([]float64, len(hits))
	best := 0.0
	for i, h := range hits {
		out[i] = min(max(0, h.Why.Get("vector")), 1) // rounding errors can exceed 1
		if foundByWords(h) {
			out[i] = h.Why.Get("own") + h.Why.Get("related")
			best = max(best, out[i])
		}
	}
	for i, h := range hits {
		if best > 0 && foundByWords(h) {
			out[i] *= h.Why.Get("relevance") / best
		}
	}
	return out
}
