// Package vector is the arithmetic of a search on whole arrays: dot products, normalization, int8
// and float16 forms and block-wise scans of embeddings; BM25 of word counts; and selection of the
// best scores. It knows no memories and no models. Its only state is the [Tier] of processor
// instructions, on which results do not depend.
package vector

import "math"

// Normalize scales v in place to unit length and reports whether it could: a zero vector, or one
// with a value that is not finite, stays unchanged.
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
