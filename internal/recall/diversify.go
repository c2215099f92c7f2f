package recall

import "github.com/loci-memory/loci/internal/vector"

// diversifyAmong bounds the work: what stands further back is not reached.
const diversifyAmong = 40

// repeats is the cosine from which on two memories say much the same. Below it
// likeness is no fault: turns of one talk are alike, and several of them answer
// one question together. Counting all of it costs a tenth of recall@10.
const repeats = 0.75

// diversify moves the best n to the front, each chosen for its score less its
// redundancy with those before it (maximal marginal relevance). What is not
// reached keeps its order.
func diversify(list []ranked, lambda float64, n int) {
	among := list[:min(len(list), max(n, diversifyAmong))]
	redundant, vectors := make([]float64, len(among)), make([][]float32, len(among))
	for i := range among {
		vectors[i] = decode(among[i].Vector)
	}
	for i := range among[:min(n, len(among))] {
		best := i
		for j := i; j < len(among); j++ {
			among[j].mmr = lambda*among[j].score - (1-lambda)*redundant[j]
			if among[j].mmr > among[best].mmr {
				best = j
			}
		}
		// Rotated rather than swapped, so that equals keep their order.
		chosen, its := among[best], vectors[best]
		copy(among[i+1:best+1], among[i:best])
		copy(redundant[i+1:best+1], redundant[i:best])
		copy(vectors[i+1:best+1], vectors[i:best])
		among[i], vectors[i] = chosen, its
		for j := i + 1; j < len(among); j++ {
			redundant[j] = max(redundant[j], redundancy(its, vectors[j]))
		}
	}
}

// redundancy is how far two vectors are alike beyond [repeats]: 1 for the same, 0
// if either is missing or they are of different models.
func redundancy(a, b []float32) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return 0
	}
	return max(0, (float64(vector.Dot(a, b))-repeats)/(1-repeats))
}

func decode(half []uint16) []float32 {
	v := make([]float32, len(half))
	for i, h := range half {
		v[i] = vector.DecodeHalf(h)
	}
	return v
}
