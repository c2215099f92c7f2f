package tensor

import "math"

// GELU replaces each x, its bias added, by x·Φ(x), with Φ the normal distribution
// itself and no approximation by tanh. It panics if bias is shorter than x.
func GELU(x, bias []float32) {
	bias = bias[:len(x)]
	n := gelu(x, bias)
	geluPortable(x[n:], bias[n:])
}

func geluPortable(x, bias []float32) {
	for i := range x {
		v := float64(x[i] + bias[i])
		x[i] = float32(v * 0.5 * math.Erfc(-v/math.Sqrt2))
	}
}

// Lane is the number of values up to which [Softmax] may write beyond a row.
const Lane = 16

// Softmax replaces x[:n] by e^(scale·x), scaled so that they add up to 1. A slice
// that is long enough for n rounded up to a multiple of [Lane] is faster; what it
// held there is lost. Scale must be positive, and n at least 1.
func Softmax(x []float32, n int, scale float32) {
	whole := (n + Lane - 1) &^ (Lane - 1)
	if whole > len(x) {
		softmaxPortable(x[:n], scale)
		return
	}
	for i := n; i < whole; i++ {
		x[i] = float32(math.Inf(-1))
	}
	softmax(x[:whole], scale)
}

func softmaxPortable(x []float32, scale float32) {
	most := float32(math.Inf(-1))
	for _, v := range x {
		most = max(most, v)
	}
	var sum float64
	for i, v := range x {
		e := math.Exp(float64(scale) * float64(v-most))
		sum += e
		x[i] = float32(e)
	}
	for i := range x {
		x[i] = float32(float64(x[i]) / sum)
	}
}

// Norm is a layer normalization.
type Norm struct {
	Gain, Shift []float32
	Eps         float32
}

// Apply adds the bias to the row x and normalizes it: less its mean, divided by its
// standard deviation, times the gain, plus the shift. It panics if bias or the norm
// are shorter than x.
func (n *Norm) Apply(x, bias []float32) {
	bias, gain, shift := bias[:len(x)], n.Gain[:len(x)], n.Shift[:len(x)]
	layerNorm(x, bias, gain, shift, n.Eps)
}

func layerNormPortable(x, bias, gain, shift []float32, eps float32) {
	var mean, spread float64
	for i := range x {
		x[i] += bias[i]
		mean += float64(x[i])
	}
	mean /= float64(len(x))
	for _, v := range x {
		spread += (float64(v) - mean) * (float64(v) - mean)
	}
	by := 1 / math.Sqrt(spread/float64(len(x))+float64(eps))
	for i, v := range x {
		x[i] = float32((float64(v)-mean)*by)*gain[i] + shift[i]
	}
}
