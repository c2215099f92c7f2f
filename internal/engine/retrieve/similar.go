package retrieve

import (
	"cmp"
	"context"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// queryEmbedShare is how much of its time the search of a query leaves its embedder: what
// needs no vector is read meanwhile.
const queryEmbedShare = 0.8

// SimilarityPart is the part of a hit's why that the threshold of a query is on.
const SimilarityPart = "similarity"

// Similarity is how near a hit is to the query, 0 to 1.
func Similarity(h memory.Hit) float64 { return h.Why.Get(SimilarityPart) }

// Similar finds turns by the rule of reach, the most similar first, of at least the
// threshold. It returns the dimensions of the query's embedding.
func (r *Pipeline) Similar(ctx context.Context, topK int) (dims int, err error) {
	query := r.Query()
	s := r.Wanted(ctx, query, queryEmbedShare)
	s.Scopes, s.Kinds = []memory.Scope{r.Q.Scope}, []memory.Kind{memory.KindTurn}
	everything := 0.0
	r.Q.ScoreThreshold = &everything // the threshold here is on another number
	hits, err := r.ranked(ctx, query, s, Candidates)
	if err != nil {
		return len(s.Vector), err
	}
	least := r.scale().Threshold
	if least < 0 {
		least = recall.DefaultThreshold
	}
	if r.scale().Measure == recall.Fitted && len(s.Vector) > 0 && !core.OfWords(r.E.Embedder) {
		least = recall.Place(least, background(r.E.Embedder)) // by another model than the threshold's
	}
	for i, x := range Similarities(hits, core.OfWords(r.E.Embedder) || len(s.Vector) == 0) {
		if x >= least {
			hits[i].Why = append(slices.Clip(hits[i].Why), memory.Part{Name: SimilarityPart, Value: x})
			r.Hits = append(r.Hits, hits[i])
		}
	}
	slices.SortStableFunc(r.Hits, func(a, b memory.Hit) int { return cmp.Compare(Similarity(b), Similarity(a)) })
	r.Hits = r.Hits[:min(topK, len(r.Hits))]
	r.overtaken(ctx)
	return len(s.Vector), nil
}

// Similarities returns how near each hit is to the query, 0 to 1. It is the cosine,
// which design 2's threshold is on. Where vectors are of words alone it is the chance that
// the best hit answers, times the share of the best one's words that a hit has itself:
// what only stands beside an answer is not like the query.
func Similarities(hits []memory.Hit, byWords bool) []float64 {
	out := make([]float64, len(hits))
	most := 0.0
	for i, h := range hits {
		out[i] = min(max(0, h.Why.Get("vector")), 1) // rounding can exceed 1
		if byWords {
			out[i] = h.Why.Get("own") + h.Why.Get("related")
			most = max(most, out[i])
		}
	}
	for i, h := range hits {
		if most > 0 {
			out[i] *= h.Why.Get("relevance") / most
		}
	}
	return out
}
