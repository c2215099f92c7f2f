package vector

import "math"

// EncodeHalf returns the IEEE 754 half-precision bits nearest to x, ties to even. Values that are too large
// become infinite.
func EncodeHalf(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	exp := int(bits>>23&0xff) - 127 + 15
	frac := bits & 0x7fffff
	switch {
	case bits&0x7fffffff > 0x7f800000: // NaN
		return sign | 0x7e00
	case exp >= 31:
		return sign | 0x7c00
	case exp <= 0: // subnormal, or rounded to zero
		if exp < -10 {
			return sign
		}
		frac |= 0x800000
		return sign | uint16(roundShift(frac, uint(14-exp)))
	}
	return sign | uint16(roundShift(uint32(exp)<<23|frac, 13)) // a carry increments the exponent
}

// EncodeHalves writes [EncodeHalf] of each value of v into dst. The values must be
// finite. It panics if dst is shorter than v.
func EncodeHalves(dst []uint16, v []float32) { encodeHalves(dst[:len(v)], v) }

func encodeHalvesPortable(dst []uint16, v []float32) {
	for i, x := range v {
		dst[i] = EncodeHalf(x)
	}
}

// roundShift returns x >> n, rounded to the nearest integer, ties to even.
func roundShift(x uint32, n uint) uint32 {
	half := uint32(1) << (n - 1)
	out, rest := x>>n, x&(1<<n-1)
	if rest > half || rest == half && out&1 == 1 {
		out++
	}
	return out
}

// DecodeHalf returns the value of half-precision bits.
func DecodeHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0:
		value := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(value) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// decodeFinite decodes a finite half-precision value without a branch. It shifts the bits to their places in a
// float32, and multiplies by the difference between the biases of the two formats' exponents.
func decodeFinite(h uint16) float32 {
	const bias = 0x1p112
	return math.Float32frombits(uint32(h&0x8000)<<16|uint32(h&0x7fff)<<13) * bias
}
