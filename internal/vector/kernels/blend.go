package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of a Blend.
const (
	blendScale  = 0
	blendGain   = 4
	blendBase   = 8
	blendIDF    = 12
	blendSlopes = 16
	blendShares = 32
)

func blend() {
	const documents, away = 64, 3
	function("blendAVX2", "func(b *float32, counts, reach, kinds *uint8, lengths *int32, scores *float32) uint64",
		"blendAVX2 is blendPortable with AVX2.")
	sums := AllocLocal(2 * documents)
	b, counts, reach := Load(Param("b"), GP64()), Load(Param("counts"), GP64()), Load(Param("reach"), GP64())

	zero, one, two, three, sixteen := YMM(), YMM(), YMM(), YMM(), YMM()
	VPXOR(zero, zero, zero)
	VPCMPEQW(one, one, one)
	VPSRLW(U8(15), one, one)
	VPADDW(one, one, two)
	VPADDW(one, two, three)
	VPSLLW(U8(4), one, sixteen)
	var shares [away + 1]VecVirtual
	for i := range shares {
		shares[i] = YMM()
		VPBROADCASTW(Mem{Base: b, Disp: blendShares + 2*i}, shares[i])
	}
	for at := 0; at < documents; at += 16 {
		count := func(from int) VecVirtual {
			x := YMM()
			VPMOVZXBW(Mem{Base: counts, Disp: at + away + from}, x)
			return x
		}
		sum, near, left, right := count(0), YMM(), YMM(), YMM()
		VPMULLW(shares[0], sum, sum)
		VPMOVZXBW(Mem{Base: reach, Disp: at}, near)
		VPAND(three, near, left)
		VPSRLW(U8(2), near, right)
		for i, less := range []VecVirtual{zero, one, two} {
			before, after, mask := count(-1-i), count(1+i), YMM()
			VPCMPGTW(less, left, mask)
			VPAND(mask, before, before)
			VPCMPGTW(less, right, mask)
			VPAND(mask, after, after)
			VPADDW(after, before, before)
			VPMULLW(shares[i+1], before, before)
			VPADDW(before, sum, sum)
		}
		VPCMPGTW(near, sixteen, near)
		VPAND(near, sum, sum)
		VMOVDQU(sum, sums.Offset(2*at))
	}

	// move bit 4 or 5, which is set if reach is more than fifteen, to the top
	far, some := GP64(), GP64()
	XORQ(far, far)
	for at := documents - 32; at >= 0; at -= 32 {
		x, up := YMM(), YMM()
		VMOVDQU(Mem{Base: reach, Disp: at}, x)
		VPSLLW(U8(3), x, up)
		VPSLLW(U8(2), x, x)
		VPOR(up, x, x)
		VPMOVMSKB(x, some.As32())
		SHLQ(U8(32), far)
		ORQ(some, far)
	}
	Store(far, ReturnIndex(0))

	kinds, lengths, scores := Load(Param("kinds"), GP64()), Load(Param("lengths"), GP64()), Load(Param("scores"), GP64())
	scale, gain, base, idf, slopes := YMM(), YMM(), YMM(), YMM(), YMM()
	VBROADCASTSS(Mem{Base: b, Disp: blendScale}, scale)
	VBROADCASTSS(Mem{Base: b, Disp: blendGain}, gain)
	VBROADCASTSS(Mem{Base: b, Disp: blendBase}, base)
	VBROADCASTSS(Mem{Base: b, Disp: blendIDF}, idf)
	VBROADCASTF128(Mem{Base: b, Disp: blendSlopes}, slopes)
	for at := 0; at < documents; at += 8 {
		tf, kind, length, below := YMM(), YMM(), YMM(), YMM()
		VPMOVZXWD(sums.Offset(2*at), tf)
		VCVTDQ2PS(tf, tf)
		VMULPS(scale, tf, tf)
		VPMOVZXBD(Mem{Base: kinds, Disp: at}, kind)
		VPERMILPS(kind, slopes, kind)
		VCVTDQ2PS(Mem{Base: lengths, Disp: 4 * at}, length)
		VMULPS(kind, length, length)
		VADDPS(base, tf, below)
		VADDPS(length, below, below)
		VMULPS(idf, tf, tf)
		VMULPS(gain, tf, tf)
		VDIVPS(below, tf, tf)
		VADDPS(Mem{Base: scores, Disp: 4 * at}, tf, tf)
		VMOVUPS(tf, Mem{Base: scores, Disp: 4 * at})
	}
	VZEROUPPER()
	RET()
}
