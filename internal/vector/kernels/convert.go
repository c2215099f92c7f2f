package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func halves() {
	const piece = 8
	function("encodeHalvesAVX2", "func(dst *uint16, v *float32, n int)",
		"encodeHalvesAVX2 writes EncodeHalf of each finite value, with F16C. n must be a multiple of 8.")
	dst, v, n, i := Load(Param("dst"), GP64()), Load(Param("v"), GP64()), Load(Param("n"), GP64()), GP64()
	XORQ(i, i)
	Label("next")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	x := YMM()
	VMOVUPS(Mem{Base: v, Index: i, Scale: 4}, x)
	VCVTPS2PH(U8(0), x, Mem{Base: dst, Index: i, Scale: 2}) // 0: round to nearest, ties to even
	ADDQ(U8(piece), i)
	JMP(LabelRef("next"))
	Label("done")
	VZEROUPPER()
	RET()
}

func quantize() {
	largest()
	round()
}

func largest() {
	const piece = 32
	function("largestAVX2", "func(v *float32, n int) float32",
		"largestAVX2 is largestMagnitudePortable with AVX2. n must be a multiple of 32.")
	v, n := Load(Param("v"), GP64()), Load(Param("n"), GP64())
	var most [piece / 8]VecVirtual
	sign := YMM()
	VPCMPEQD(sign, sign, sign)
	VPSLLD(U8(31), sign, sign)
	for k := range most {
		most[k] = YMM()
		VXORPS(most[k], most[k], most[k])
	}
	Label("next")
	SUBQ(U8(piece), n)
	JLT(LabelRef("done"))
	for k := range most {
		x := YMM()
		VANDNPS(Mem{Base: v, Disp: 32 * k}, sign, x)
		VMAXPS(x, most[k], most[k])
	}
	SUBQ(I8(-128), v)
	JMP(LabelRef("next"))
	Label("done")
	VMAXPS(most[1], most[0], most[0])
	VMAXPS(most[3], most[2], most[2])
	VMAXPS(most[2], most[0], most[0])
	best, other := most[0].AsX(), XMM()
	VEXTRACTF128(U8(1), most[0], other)
	VMAXPS(other, best, best)
	VPERMILPS(U8(0b1110), best, other)
	VMAXPS(other, best, best)
	VPERMILPS(U8(0b01), best, other)
	VMAXSS(other, best, best)
	Store(best, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func round() {
	const piece = 32
	function("roundAVX2", "func(dst *int8, v *float32, scale float32, n int) int32",
		"roundAVX2 is roundPortable with AVX2. n must be a multiple of 32.")
	order := GLOBL("order", RODATA|NOPTR)
	for i, x := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		DATA(4*i, U32(x))
	}
	dst, v, n := Load(Param("dst"), GP64()), Load(Param("v"), GP64()), Load(Param("n"), GP64())
	by, places, sum := YMM(), YMM(), YMM()
	scale, err := Param("scale").Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(scale.Addr, by)
	VMOVDQU(order, places)
	VPXOR(sum, sum, sum)
	Label("next")
	SUBQ(U8(piece), n)
	JLT(LabelRef("done"))
	var x [piece / 8]VecVirtual
	for k := range x {
		x[k] = YMM()
		VMOVUPS(Mem{Base: v, Disp: 32 * k}, x[k])
		VDIVPS(by, x[k], x[k])
		VCVTPS2DQ(x[k], x[k])
		VPADDD(x[k], sum, sum)
	}
	// Packing works on each half of the registers separately. Groups of four values come out in the order
	// 0 2 4 6 1 3 5 7.
	VPACKSSDW(x[1], x[0], x[0])
	VPACKSSDW(x[3], x[2], x[2])
	VPACKSSWB(x[2], x[0], x[0])
	VPERMD(x[0], places, x[0])
	VMOVDQU(x[0], Mem{Base: dst})
	SUBQ(I8(-128), v)
	ADDQ(U8(piece), dst)
	JMP(LabelRef("next"))
	Label("done")
	low, other := sum.AsX(), XMM()
	VEXTRACTI128(U8(1), sum, other)
	VPADDD(other, low, low)
	VPSHUFD(U8(0b1110), low, other)
	VPADDD(other, low, low)
	VPSHUFD(U8(0b01), low, other)
	VPADDD(other, low, low)
	total := GP32()
	VMOVD(low, total)
	Store(total, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
