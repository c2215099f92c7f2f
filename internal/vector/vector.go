// Package vector computes what searches need on large arrays: dot products, normalization, int8 and float16
// encodings and scans of embeddings, BM25 scores from word counts, and selection of the best scores. It does
// not depend on memories or models. Its only state is the [Tier] of CPU instructions, which does not change
// results.
package vector

import "math"

// Normalize scales v in place to unit length and reports whether it succeeded. It does not change a zero
// vector or a vector with a value that is not finite.
func Normalize(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return false
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= scale
	}
	return true
}
