package bench

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

// clauseBM25 ranks memories by BM25 of a message's best clause.
type clauseBM25 struct {
	docs   []map[string]float64 // terms and how often
	length []float64
	idf    map[string]float64
	mean   float64
}

// The usual parameters of BM25.
const (
	bm25K = 1.2
	bm25B = 0.75
)

func newClauseBM25(memories []chatMemory) *clauseBM25 {
	b := &clauseBM25{idf: map[string]float64{}}
	for _, m := range memories {
		terms := map[string]float64{}
		all := text.Terms(m.content)
		for _, t := range all {
			terms[t]++
		}
		for t := range terms {
			b.idf[t]++
		}
		b.docs, b.length = append(b.docs, terms), append(b.length, float64(len(all)))
		b.mean += float64(len(all)) / float64(len(memories))
	}
	n := float64(len(memories))
	for t, df := range b.idf {
		b.idf[t] = math.Log(1 + (n-df+0.5)/(df+0.5))
	}
	return b
}

// best returns the places of the k best memories that share a term with a clause.
func (b *clauseBM25) best(message string, k int) []int {
	scores := make([]float64, len(b.docs))
	for _, clause := range clauses(message) {
		terms := text.Terms(clause)
		for i, doc := range b.docs {
			var score float64
			for _, t := range terms {
				if tf := doc[t]; tf > 0 {
					score += b.idf[t] * tf * (bm25K + 1) / (tf + bm25K*(1-bm25B+bm25B*b.length[i]/b.mean))
				}
			}
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

// plainCosine ranks memories by the cosine of the whole message, without a threshold.
type plainCosine struct {
	embedder memory.Embedder
	vectors  [][]float32
}

func newPlainCosine(ctx context.Context, e memory.Embedder, memories []chatMemory) (*plainCosine, error) {
	texts := make([]string, len(memories))
	for i, m := range memories {
		texts[i] = m.content
	}
	vectors, err := e.Embed(ctx, memory.AsDocument, texts...)
	if err != nil {
		return nil, fmt.Errorf("embed memories: %w", err)
	}
	return &plainCosine{e, vectors}, nil
}

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
