//go:build !amd64

package tensor

func multiply(dst, a Matrix, w *Weights, add bool) { multiplyPortable(dst, a, w, add) }

func gelu(x, bias []float32) int { return 0 }

func softmax(x []float32, scale float32) { softmaxPortable(x, scale) }

func layerNorm(x, bias, gain, shift []float32, eps float32) {
	layerNormPortable(x, bias, gain, shift, eps)
}
