// Package vector is the arithmetic of a search on whole arrays: of embeddings dot products,
// unit length, int8 and float16 forms and block-wise scans; of words what their counts are
// worth (BM25); of scores the best of many. It knows no memories and no models. The one
// thing it remembers is which [Tier] of the processor's instructions to use; results do not
// depend on it.
package vector

import "math"

// Normalize scales v in place to unit length and reports whether it could: a
// vector of zeros, or with a value that is not a finite number, stays as it is.
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
