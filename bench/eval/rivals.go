package eval

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// ranked is texts that are ranked for a question: by BM25 or, with an embedder, by the plain cosine
// of whole texts.
type ranked struct {
	embedder memory.Embedder // nil: BM25
	vectors  [][]float32

	docs   []map[string]float64 // terms and how often
	length []float64
	df     map[string]float64 // how many texts have a term
	total  float64            // length of all texts
}

// add appends texts.
func (r *ranked) add(ctx context.Context, texts ...string) error {
	if r.embedder != nil {
		vectors, err := r.embedder.Embed(ctx, memory.AsDocument, texts...)
		if err != nil {
			return fmt.Errorf("embed texts: %w", err)
		}
		r.vectors = append(r.vectors, vectors...)
		return nil
	}
	if r.df == nil {
		r.df = map[string]float64{}
	}
	for _, s := range texts {
		all, terms := text.Terms(s), map[string]float64{}
		for _, t := range all {
			terms[t]++
		}
		for t := range terms {
			r.df[t]++
		}
		r.docs, r.length = append(r.docs, terms), append(r.length, float64(len(all)))
		r.total += float64(len(all))
	}
	return nil
}

// best returns the places of the k best texts for a message, best first: by the cosine of the whole
// message or, of texts that share a term with it, by BM25 of its best clause. Clauses end at sentence
// ends, commas and the like.
func (r *ranked) best(ctx context.Context, message string, k int) ([]int, error) {
	scores, above := make([]float64, max(len(r.docs), len(r.vectors))), 0.0
	if r.embedder != nil {
		q, err := r.embedder.Embed(ctx, memory.AsQuestion, message)
		if err != nil {
			return nil, fmt.Errorf("embed message: %w", err)
		}
		for i, v := range r.vectors {
			for j, x := range v {
				scores[i] += float64(x) * float64(q[0][j])
			}
		}
		above = math.Inf(-1)
	} else {
		for clause := range strings.FieldsFuncSeq(message, func(r rune) bool { return strings.ContainsRune(".,;:!?\n。,、;:!?", r) }) {
			for i, score := range r.bm25(clause) {
				scores[i] = max(scores[i], score)
			}
		}
	}
	var places []int
	for i, s := range scores {
		if s > above {
			places = append(places, i)
		}
	}
	slices.SortStableFunc(places, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	return places[:min(k, len(places))], nil
}

// The usual parameters of BM25.
const (
	bm25K = 1.2
	bm25B = 0.75
)

func (r *ranked) bm25(question string) []float64 {
	scores, n := make([]float64, len(r.docs)), float64(len(r.docs))
	for _, t := range text.Terms(question) {
		idf := math.Log(1 + (n-r.df[t]+0.5)/(r.df[t]+0.5))
		for i, doc := range r.docs {
			if tf := doc[t]; tf > 0 {
				scores[i] += idf * tf * (bm25K + 1) / (tf + bm25K*(1-bm25B+bm25B*r.length[i]*n/r.total))
			}
		}
	}
	return scores
}
