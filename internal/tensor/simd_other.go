//go:build !amd64

package tensor

func multiply(dst, a Matrix, w *Weights, addend Matrix) { multiplyPortable(dst, a, w, addend) }

func gelu(x []float32) int { return 0 }

func softmax(x []float32, scale float32) { softmaxPortable(x, scale) }

func layerNorm(dst, x, bias, gain, shift []float32, eps float32) {
	layerNormPortable(dst, x, bias, gain, shift, eps)
}
