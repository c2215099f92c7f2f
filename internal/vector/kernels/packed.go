package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// dotPacked emits the inner product with a packed row. Each word of bits spreads the next values over sixteen
// lanes. It reads no value after the row.
func dotPacked() {
	function("dotPackedAVX512", "func(a *float32, bits *uint16, values *uint16, words int) float32",
		"dotPackedAVX512 gives the same bits as its portable counterpart, with AVX-512. The",
		"number of words must be even.")
	a, bits := Load(Param("a"), GP64()), Load(Param("bits"), GP64())
	values, words := Load(Param("values"), GP64()), Load(Param("words"), GP64())
	ones := GP32()
	MOVL(U32(0xffff), ones)
	var sums [2]VecVirtual
	for k := range sums {
		sums[k] = ZMM()
		VPXORD(sums[k], sums[k], sums[k])
	}
	Label("next")
	SUBQ(U8(2), words)
	JLT(LabelRef("sum"))
	for k := range sums {
		word, count, first := GP32(), GP64(), GP32()
		places, held := K(), K()
		half, x := YMM(), ZMM()
		MOVWLZX(Mem{Base: bits, Disp: 2 * k}, word)
		KMOVW(word, places)
		POPCNTL(word, count.As32())
		BZHIL(count.As32(), ones, first)
		KMOVW(first, held)
		VMOVDQU16_Z(Mem{Base: values}, held, half)
		VCVTPH2PS(half, x)
		VEXPANDPS_Z(x, places, x)
		VMULPS(Mem{Base: a, Disp: 64 * k}, x, x)
		VADDPS(x, sums[k], sums[k])
		LEAQ(Mem{Base: values, Index: count, Scale: 2}, values)
	}
	ADDQ(U8(4), bits)
	ADDQ(U32(128), a)
	JMP(LabelRef("next"))

	Label("sum")
	VADDPS(sums[1], sums[0], sums[0])
	half := YMM()
	VEXTRACTF64X4(U8(1), sums[0], half)
	VADDPS(half, sums[0].AsY(), half)
	sum, other := half.AsX(), XMM()
	VEXTRACTF128(U8(1), half, other)
	VADDPS(other, sum, sum)
	VPERMILPS(U8(0b1110), sum, other)
	VADDPS(other, sum, sum)
	VPERMILPS(U8(0b01), sum, other)
	VADDSS(other, sum, sum)
	Store(sum, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
