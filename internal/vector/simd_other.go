//go:build !amd64

package vector

func fastest() int32 { return portable }

func scan(q Query, values []uint8, stride int, scales, out []float32) {
	scanPortable(q, values, stride, scales, out)
}

func dot(a, b []float32) float32 { return dotPortable(a, b) }

func dotHalf(a []float32, b []uint16) float32 { return dotHalfPortable(a, b) }

func dotPacked(a []float32, bitmap, values []uint16) float32 {
	return dotPackedPortable(a, bitmap, values)
}

func fetch([]uint16) {} // prefetching only saves time

func encodeHalves(dst []uint16, v []float32) { encodeHalvesPortable(dst, v) }

func largest(v []float32) float32 { return largestMagnitudePortable(v) }

func round(dst []int8, v []float32, scale float32) int32 { return roundPortable(dst, v, scale) }

func wholePeaks(scores, out []float32) { peaksPortable(scores, out) }

func blend(b *Blend, scores []float32, counts, reach, kinds []uint8, lengths []int32) uint64 {
	return blendPortable(b, scores, counts, reach, kinds, lengths)
}

func above(scores []float32, minScore float32, out []int32) int {
	return abovePortable(scores, 0, minScore, out)
}
