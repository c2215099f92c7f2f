package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/vector"
)

// diversifyAmong bounds the work: what stands further back is not reached.
const diversifyAmong = 40

// repeats is the cosine from which on two memories say much the same. Below it
// likeness is not a fault: turns of one talk are alike, and several of them answer
// one question together. Counting all of it costs a tenth of recall@10.
const repeats = 0.75

// diversify moves the best n to the front, each chosen for its score less its
// redundancy with those before it (maximal marginal relevance). What is not
// reached keeps its order. The list comes by score.
//
// Redundancy only grows as more are chosen, so that a candidate is compared with
// those chosen since it was last looked at, and only while it may still win.
func (m *room) diversify(list []*ranked, lambda float64, n int) {
	lambda = unit(lambda)
	among := list[:min(len(list), max(n, diversifyAmong))]
	n = min(n, len(among))
	m.chosen = m.chosen[:0]
	ends := make([]int, 1, n+1) // of the vectors in it
	for i := range n {
		best := -1
		for j := i; j < len(among); j++ {
			r := among[j]
			if best >= 0 && lambda*r.score <= among[best].mmr {
				break // nor can any after it
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
		// Rotated rather than swapped, so that equals keep their order.
		its := among[best]
		copy(among[i+1:best+1], among[i:best])
		among[i] = its
		m.choose(its.Vector)
		ends = append(ends, len(m.chosen))
	}
}

// redundancy is how far two vectors are alike beyond m.repeats: 1 for the same, 0
// if either is missing or they are of different models.
func (m *room) redundancy(a []float32, b []uint16) float64 {
	if len(a) != vector.Dims(b) || len(a) == 0 {
		return 0
	}
	return unit((stretched(float64(vector.DotPacked(a, b)), m.stretch) - m.repeats) / (1 - m.repeats))
}

// choose adds the values of a candidate's vector.
func (m *room) choose(row []uint16) {
	start, dims := len(m.chosen), vector.Dims(row)
	m.chosen = slices.Grow(m.chosen, dims)[:start+dims]
	vector.Unpack(m.chosen[start:], row)
}
