package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/vector"
)

// maxDiversified is the number of best candidates that diversify considers.
const maxDiversified = 40

// minRedundantCosine is the minimum cosine of two redundant memories. Turns of one conversation, which may answer
// a question together, have lower cosines: a minimum of 0 costs a tenth of recall@10.
const minRedundantCosine = 0.75

// diversify moves the best n candidates to the front, by score minus redundancy with the candidates already
// chosen (maximal marginal relevance). The other candidates keep their order. The list must be sorted by score.
//
// Redundancy only grows as more candidates are chosen. A candidate is therefore compared only with candidates
// chosen since its last comparison, and only while it can still be the best.
func (m *rankBuffers) diversify(list []*ranked, lambda float64, n int) {
	lambda = clampUnit(lambda)
	among := list[:min(len(list), max(n, maxDiversified))]
	n = min(n, len(among))
	m.chosenVectors = m.chosenVectors[:0]
	ends := make([]int, 1, n+1) // where each chosen vector ends
	for i := range n {
		best := -1
		for j := i; j < len(among); j++ {
			r := among[j]
			if best >= 0 && lambda*r.score <= among[best].mmr {
				break // no later candidate can be the best
			}
			if best >= 0 && lambda*r.score-(1-lambda)*r.redundancy <= among[best].mmr {
				continue
			}
			for ; r.comparedCount < i; r.comparedCount++ {
				r.redundancy = max(r.redundancy, m.redundancy(m.chosenVectors[ends[r.comparedCount]:ends[r.comparedCount+1]], r.Vector))
			}
			r.mmr = lambda*r.score - (1-lambda)*r.redundancy
			if best < 0 || r.mmr > among[best].mmr {
				best = j
			}
		}
		// A rotation, unlike a swap, keeps the order of candidates with equal scores.
		its := among[best]
		copy(among[i+1:best+1], among[i:best])
		among[i] = its
		m.addChosen(its.Vector)
		ends = append(ends, len(m.chosenVectors))
	}
}

// redundancy scales the cosine of two vectors: 0 up to [minRedundantCosine], 1 for equal vectors. It returns 0 if
// a vector is missing or their models differ.
func (m *rankBuffers) redundancy(a []float32, b []uint16) float64 {
	if len(a) != vector.Dims(b) || len(a) == 0 {
		return 0
	}
	return clampUnit((stretchCosine(float64(vector.DotPacked(a, b)), m.stretch) - m.minRedundantCosine) / (1 - m.minRedundantCosine))
}

func (m *rankBuffers) addChosen(packed []uint16) {
	start, dims := len(m.chosenVectors), vector.Dims(packed)
	m.chosenVectors = slices.Grow(m.chosenVectors, dims)[:start+dims]
	vector.Unpack(m.chosenVectors[start:], packed)
}
