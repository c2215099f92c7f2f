package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/vector"
)

// diversifyAmong is the number of best candidates that diversify considers.
const diversifyAmong = 40

// redundantFrom is the minimum cosine of two redundant memories. Turns of one conversation, which may answer
// a question together, have lower cosines: a minimum of 0 costs a tenth of recall@10.
const redundantFrom = 0.75

// diversify moves the best n candidates to the front, by score minus redundancy with the candidates already
// chosen (maximal marginal relevance). The others keep their order. The list must be sorted by score.
//
// Redundancy only grows as more candidates are chosen. A candidate is therefore compared only with candidates
// chosen since its last comparison, and only while it can still be the best.
func (m *rankBuffers) diversify(list []*ranked, lambda float64, n int) {
	lambda = clampUnit(lambda)
	among := list[:min(len(list), max(n, diversifyAmong))]
	n = min(n, len(among))
	m.chosen = m.chosen[:0]
	ends := make([]int, 1, n+1) // where each chosen vector ends
	for i := range n {
		best := -1
		for j := i; j < len(among); j++ {
			r := among[j]
			if best >= 0 && lambda*r.score <= among[best].mmr {
				break // no later candidate can be the best
			}
			if best >= 0 && lambda*r.score-(1-lambda)*r.redundant <= among[best].mmr {
				continue
			}
			for ; r.compared < i; r.compared++ {
				r.redundant = max(r.redundant, m.redundancy(m.chosen[ends[r.compared]:ends[r.compared+1]], r.Vector))
			}
			r.mmr = lambda*r.score - (1-lambda)*r.redundant
			if best < 0 || r.mmr > among[best].mmr {
				best = j
			}
		}
		// A rotation, unlike a swap, keeps the order of candidates with equal scores.
		its := among[best]
		copy(among[i+1:best+1], among[i:best])
		among[i] = its
		m.choose(its.Vector)
		ends = append(ends, len(m.chosen))
	}
}

// redundancy scales the cosine of two vectors: 0 up to [redundantFrom], 1 for equal vectors. It returns 0 if
// a vector is missing or their models differ.
func (m *rankBuffers) redundancy(a []float32, b []uint16) float64 {
	if len(a) != vector.Dims(b) || len(a) == 0 {
		return 0
	}
	return clampUnit((stretched(float64(vector.DotPacked(a, b)), m.stretch) - m.repeats) / (1 - m.repeats))
}

func (m *rankBuffers) choose(row []uint16) {
	start, dims := len(m.chosen), vector.Dims(row)
	m.chosen = slices.Grow(m.chosen, dims)[:start+dims]
	vector.Unpack(m.chosen[start:], row)
}
