package vector

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run -C kernels . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg vector

func fastest() int32 {
	x := cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasF16C:
		return portable
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512VL || !x.HasAVX512VNNI:
		return avx2
	}
	return avx512
}

func scan(q Query, values []uint8, stride int, scales, out []float32) {
	kernel := scanAVX2
	switch t := tier.Load(); {
	case t == portable || len(scales) == 0:
		scanPortable(q, values, stride, scales, out)
		return
	case t == avx512:
		kernel = scanAVX512
	}
	kernel((*int32)(unsafe.Pointer(unsafe.SliceData(q.quads))), len(q.quads), unsafe.SliceData(values), stride, len(scales)/tileRows,
		unsafe.SliceData(scales), q.scale, -q.offsetSum, unsafe.SliceData(out))
}

func dot(a, b []float32) float32 {
	if tier.Load() == portable || len(a) < lanes {
		return dotPortable(a, b)
	}
	return dotAVX2(unsafe.SliceData(a), unsafe.SliceData(b), len(a))
}

func dotHalf(a []float32, b []uint16) float32 {
	if tier.Load() == portable || len(a) < lanes {
		return dotHalfPortable(a, b)
	}
	return dotHalfAVX2(unsafe.SliceData(a), unsafe.SliceData(b), len(a))
}

func dotPacked(a []float32, bitmap, values []uint16) float32 {
	if tier.Load() != avx512 || len(a)%lanes != 0 {
		return dotPackedPortable(a, bitmap, values)
	}
	return dotPackedAVX512(unsafe.SliceData(a), unsafe.SliceData(bitmap), unsafe.SliceData(values), len(bitmap))
}

// fetch prefetches a row into the L1 cache.
func fetch(row []uint16) {
	if tier.Load() != portable {
		fetchSSE(unsafe.SliceData(row), (len(row)+cacheLineValues-1)/cacheLineValues)
	}
}

// cacheLineValues is the number of half-precision values in a cache line.
const cacheLineValues = 32

func encodeHalves(dst []uint16, v []float32) {
	whole := 0
	if tier.Load() != portable {
		whole = len(v) &^ 7
		encodeHalvesAVX2(unsafe.SliceData(dst), unsafe.SliceData(v), whole)
	}
	encodeHalvesPortable(dst[whole:], v[whole:])
}

func largest(v []float32) float32 {
	if tier.Load() == portable {
		return largestMagnitudePortable(v)
	}
	whole := len(v) &^ 31
	return max(largestAVX2(unsafe.SliceData(v), whole), largestMagnitudePortable(v[whole:]))
}

func round(dst []int8, v []float32, scale float32) int32 {
	if tier.Load() == portable {
		return roundPortable(dst, v, scale)
	}
	whole := len(v) &^ 31
	return roundAVX2(unsafe.SliceData(dst), unsafe.SliceData(v), scale, whole) + roundPortable(dst[whole:], v[whole:], scale)
}

func wholePeaks(scores, out []float32) {
	if tier.Load() == portable {
		peaksPortable(scores, out)
		return
	}
	peaksAVX2(unsafe.SliceData(scores), len(scores), unsafe.SliceData(out))
}

func blend(b *Blend, scores []float32, counts, reach, kinds []uint8, lengths []int32) uint64 {
	if tier.Load() == portable {
		return blendPortable(b, scores, counts, reach, kinds, lengths)
	}
	return blendAVX2(&b.Scale, unsafe.SliceData(counts), unsafe.SliceData(reach), unsafe.SliceData(kinds), unsafe.SliceData(lengths), unsafe.SliceData(scores))
}

// above writes the result of [Above] into out, which must be as long as scores, and returns its length.
func above(scores []float32, minScore float32, out []int32) int {
	if tier.Load() == portable {
		return abovePortable(scores, 0, minScore, out)
	}
	whole := len(scores) &^ 15
	n := aboveAVX2(unsafe.SliceData(scores), whole, minScore, unsafe.SliceData(out))
	return n + abovePortable(scores[whole:], whole, minScore, out[n:])
}
