package tensor

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/loci-memory/loci/internal/vector"
)

//go:generate go run -C kernels . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg tensor

// simdSupport reports whether the current tier and the CPU allow AVX2 with FMA, and whether they also allow
// AVX-512.
func simdSupport() (avx2, avx512 bool) {
	switch vector.Tier() {
	case "avx512":
		return cpu.X86.HasFMA, cpu.X86.HasFMA
	case "avx2":
		return cpu.X86.HasFMA, false
	}
	return false, false
}

func multiply(dst, a Matrix, w *Weights, addend Matrix) {
	switch avx2, avx512 := simdSupport(); {
	case avx512:
		multiplyTiles(dst, a, w, addend, 12, func(dst, a Matrix, panel []float32, depth, ahead, step int, addend Matrix) {
			tileAVX512(a.Rows, unsafe.SliceData(a.Data), 4*a.Stride, unsafe.SliceData(panel), depth, ahead, step,
				unsafe.SliceData(addend.Data), 4*addend.Stride, unsafe.SliceData(dst.Data), 4*dst.Stride)
		})
	case avx2:
		multiplyTiles(dst, a, w, addend, 6, func(dst, a Matrix, panel []float32, depth, ahead, step int, addend Matrix) {
			for half := 0; half < panelColumns; half += panelColumns / 2 {
				tileAVX2(a.Rows, unsafe.SliceData(a.Data), 4*a.Stride, unsafe.SliceData(panel[half:]), depth, ahead, step,
					unsafe.SliceData(addend.Data[half:]), 4*addend.Stride, unsafe.SliceData(dst.Data[half:]), 4*dst.Stride)
			}
		})
	default:
		multiplyPortable(dst, a, w, addend)
	}
}

// gelu applies GELU to the first values of x and returns their number.
func gelu(x []float32) int {
	n := len(x) &^ (RowPadding - 1)
	switch avx2, avx512 := simdSupport(); {
	case !avx2 || n == 0:
		return 0
	case avx512:
		geluAVX512(unsafe.SliceData(x), n)
	default:
		geluAVX2(unsafe.SliceData(x), n)
	}
	return n
}

// softmax is [Softmax] of all values of x, whose length must be a multiple of RowPadding.
func softmax(x []float32, scale float32) {
	switch avx2, avx512 := simdSupport(); {
	case !avx2:
		softmaxPortable(x, scale)
	case avx512:
		softmaxAVX512(unsafe.SliceData(x), scale, len(x))
	default:
		softmaxAVX2(unsafe.SliceData(x), scale, len(x))
	}
}

func layerNorm(dst, x, bias, gain, shift []float32, eps float32) {
	if avx2, _ := simdSupport(); !avx2 || len(x) == 0 || len(x)%8 != 0 {
		layerNormPortable(dst, x, bias, gain, shift, eps)
		return
	}
	layerNormAVX2(unsafe.SliceData(dst), unsafe.SliceData(x), unsafe.SliceData(bias), unsafe.SliceData(gain), unsafe.SliceData(shift), eps, len(x))
}
