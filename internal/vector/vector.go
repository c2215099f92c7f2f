// Package vector is arithmetic on embeddings: dot products, unit length, int8 and
// float16 forms, block-wise scans and the best of many. It knows no memories and
// no models. The one thing it remembers is which [Tier] of the processor's
// instructions to use; results do not depend on it.
package vector

import "math"

// Normalize scales v in place to unit length and reports whether it could: a
// vector of zeros, or with a value that is no finite number, stays as it is.
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
