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
func (m *rankBuffers) diversify(list []*rankedCandidate, lambda float64, n int) {
	lambda = clampUnit(lambda)
	considered := list[:min(len(list), max(n, maxDiversified))]
	n = min(n, len(considered))
	m.chosenVectors = m.chosenVectors[:0]
	ends := make([]int, 1, n+1) // end offset of each chosen vector in chosenVectors
	for i := range n {
		best := -1
		for j := i; j < len(considered); j++ {
			r := considered[j]
			if best >= 0 && lambda*r.score <= considered[best].diversifiedScore {
				break // no later candidate can be the best
			}
			if best >= 0 && lambda*r.score-(1-lambda)*r.redundancy <= considered[best].diversifiedScore {
				continue
			}
			for ; r.comparedCount < i; r.comparedCount++ {
				r.redundancy = max(r.redundancy, m.redundancy(m.chosenVectors[ends[r.comparedCount]:ends[r.comparedCount+1]], r.Vector))
			}
			r.diversifiedScore = lambda*r.score - (1-lambda)*r.redundancy
			if best < 0 || r.diversifiedScore > considered[best].diversifiedScore {
				best = j
			}
		}
		// A rotation, unlike a swap, keeps the order of candidates with equal scores.
		chosen := considered[best]
		copy(considered[i+1:best+1], considered[i:best])
		considered[i] = chosen
		m.addChosen(chosen.Vector)
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
