package tensor

import "math"

// GELU replaces each x by x·Φ(x). It uses the exact normal distribution Φ instead of the tanh approximation.
func GELU(x []float32) { geluPortable(x[gelu(x):]) }

func geluPortable(x []float32) {
	for i, v := range x {
		x[i] = float32(float64(v) * 0.5 * math.Erfc(-float64(v)/math.Sqrt2))
	}
}

// RowPadding divides the row lengths for which [Softmax] is fastest.
const RowPadding = 16

// Softmax replaces x[:n] by e^(scale·x), normalized so that the sum is 1. It is faster if x has room for n
// rounded up to a multiple of [RowPadding]; it then overwrites the values after n. scale must be positive,
// and n at least 1.
func Softmax(x []float32, n int, scale float32) {
	paddedLen := (n + RowPadding - 1) &^ (RowPadding - 1)
	if paddedLen > len(x) {
		softmaxPortable(x[:n], scale)
		return
	}
	for i := n; i < paddedLen; i++ {
		x[i] = float32(math.Inf(-1))
	}
	softmax(x[:paddedLen], scale)
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

// LayerNorm is a layer normalization.
type LayerNorm struct {
	Gain, Shift []float32
	Eps         float32
}

// Apply sets dst to the layer normalization of x plus bias: it subtracts the mean, divides by the standard
// deviation, multiplies by Gain and adds Shift. dst may be x. It panics if dst, bias, Gain or Shift is
// shorter than x.
func (n *LayerNorm) Apply(dst, x, bias []float32) {
	dst, bias, gain, shift := dst[:len(x)], bias[:len(x)], n.Gain[:len(x)], n.Shift[:len(x)]
	layerNorm(dst, x, bias, gain, shift, n.Eps)
}

func layerNormPortable(dst, x, bias, gain, shift []float32, eps float32) {
	var mean, variance float64
	for i := range x {
		dst[i] = x[i] + bias[i]
		mean += float64(dst[i])
	}
	mean /= float64(len(dst))
	for _, v := range dst {
		variance += (float64(v) - mean) * (float64(v) - mean)
	}
	scale := 1 / math.Sqrt(variance/float64(len(dst))+float64(eps))
	for i, v := range dst {
		dst[i] = float32((float64(v)-mean)*scale)*gain[i] + shift[i]
	}
}
