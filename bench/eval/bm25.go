package eval

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/text"
)

// bm25 ranks texts for a message by BM25 of its best clause.
type bm25 struct {
	docs   []map[string]float64 // terms and how often
	length []float64
	df     map[string]float64 // how many texts have a term
	total  float64            // length of all texts
}

// newBM25 returns the ranking of some texts.
func newBM25(texts []string) *bm25 {
	b := &bm25{df: map[string]float64{}}
	for _, s := range texts {
		all, terms := text.Terms(s), map[string]float64{}
		for _, t := range all {
			terms[t]++
		}
		for t := range terms {
			b.df[t]++
		}
		b.docs, b.length = append(b.docs, terms), append(b.length, float64(len(all)))
		b.total += float64(len(all))
	}
	return b
}

// clauseEnds are where clauses of a message end.
const clauseEnds = ".,;:!?\n。,、;:!?"

// best returns the places of the k best texts for a message, best first, of those that share a term
// with it.
func (b *bm25) best(message string, k int) (places []int) {
	scores := make([]float64, len(b.docs))
	ends := func(r rune) bool { return strings.ContainsRune(clauseEnds, r) }
	for clause := range strings.FieldsFuncSeq(message, ends) {
		for i, score := range b.scores(clause) {
			scores[i] = max(scores[i], score)
		}
	}
	for i, s := range scores {
		if s > 0 {
			places = append(places, i)
		}
	}
	slices.SortStableFunc(places, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	return places[:min(k, len(places))]
}

// scores are those of all texts for a clause, by the usual parameters.
func (b *bm25) scores(clause string) []float64 {
	const k1, lengths = 1.2, 0.75
	scores, n := make([]float64, len(b.docs)), float64(len(b.docs))
	for _, t := range text.Terms(clause) {
		idf := math.Log(1 + (n-b.df[t]+0.5)/(b.df[t]+0.5))
		for i, doc := range b.docs {
			if tf := doc[t]; tf > 0 {
				scores[i] += idf * tf * (k1 + 1) / (tf + k1*(1-lengths+lengths*b.length[i]*n/b.total))
			}
		}
	}
	return scores
}
