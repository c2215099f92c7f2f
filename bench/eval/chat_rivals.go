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

// clauses cuts a message at sentence ends, commas and the like.
func clauses(message string) []string {
	return strings.FieldsFunc(message, func(r rune) bool { return strings.ContainsRune(".,;:!?\n。,、;:!?", r) })
}

// bm25 ranks texts by BM25.
type bm25 struct {
	docs   []map[string]float64 // terms and how often
	length []float64
	df     map[string]float64 // how many texts have a term
	total  float64            // length of all texts
}

// The usual parameters of BM25.
const (
	bm25K = 1.2
	bm25B = 0.75
)

// add appends texts to those that are ranked.
func (b *bm25) add(texts ...string) {
	if b.df == nil {
		b.df = map[string]float64{}
	}
	for _, s := range texts {
		terms := map[string]float64{}
		all := text.Terms(s)
		for _, t := range all {
			terms[t]++
		}
		for t := range terms {
			b.df[t]++
		}
		b.docs, b.length = append(b.docs, terms), append(b.length, float64(len(all)))
		b.total += float64(len(all))
	}
}

// scores returns the score of each text for a question.
func (b *bm25) scores(question string) []float64 {
	scores, n := make([]float64, len(b.docs)), float64(len(b.docs))
	for _, t := range text.Terms(question) {
		idf := math.Log(1 + (n-b.df[t]+0.5)/(b.df[t]+0.5))
		for i, doc := range b.docs {
			if tf := doc[t]; tf > 0 {
				scores[i] += idf * tf * (bm25K + 1) / (tf + bm25K*(1-bm25B+bm25B*b.length[i]*n/b.total))
			}
		}
	}
	return scores
}

// bestByClause returns the places of the k best texts that share a term with a clause of a
// message, each text by its best clause.
func (b *bm25) bestByClause(message string, k int) []int {
	scores := make([]float64, len(b.docs))
	for _, clause := range clauses(message) {
		for i, score := range b.scores(clause) {
			scores[i] = max(scores[i], score)
		}
	}
	return bestOf(scores, k, 0)
}

// bestOf returns the places of the k highest scores above a bar, highest first; of equal ones the
// earlier.
func bestOf(scores []float64, k int, above float64) []int {
	var places []int
	for i, s := range scores {
		if s > above {
			places = append(places, i)
		}
	}
	slices.SortStableFunc(places, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	return places[:min(k, len(places))]
}

// plainCosine ranks texts by the cosine of the whole message, without a threshold.
type plainCosine struct {
	embedder memory.Embedder
	vectors  [][]float32
}

// add appends texts to those that are ranked.
func (p *plainCosine) add(ctx context.Context, texts ...string) error {
	vectors, err := p.embedder.Embed(ctx, memory.AsDocument, texts...)
	if err != nil {
		return fmt.Errorf("embed memories: %w", err)
	}
	p.vectors = append(p.vectors, vectors...)
	return nil
}

// best returns the places of the k texts nearest to a message.
func (p *plainCosine) best(ctx context.Context, message string, k int) ([]int, error) {
	q, err := p.embedder.Embed(ctx, memory.AsQuestion, message)
	if err != nil {
		return nil, fmt.Errorf("embed message: %w", err)
	}
	scores := make([]float64, len(p.vectors))
	for i, v := range p.vectors {
		for j, x := range v {
			scores[i] += float64(x) * float64(q[0][j])
		}
	}
	return bestOf(scores, k, math.Inf(-1)), nil
}
