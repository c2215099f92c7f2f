package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func peaks() {
	const lanes, group = 8, 16
	function("peaksAVX2", "func(scores *float32, n int, out *float32)",
		"peaksAVX2 is peaksPortable with AVX2. n must be a multiple of 128.")
	scores, n, out := Load(Param("scores"), GP64()), Load(Param("n"), GP64()), Load(Param("out"), GP64())
	least := YMM()
	VBROADCASTSS(ConstData("peaksLeast", U32(math.Float32bits(float32(math.Inf(-1))))), least)
	Label("next")
	CMPQ(n, U8(0))
	JE(LabelRef("done"))
	low, high := YMM(), YMM()
	VMOVAPS(least, low)
	VMOVAPS(least, high)
	for i := 0; i < group; i += 2 {
		a, b := YMM(), YMM()
		VMOVUPS(Mem{Base: scores, Disp: i * lanes * 4}, a)
		VMOVUPS(Mem{Base: scores, Disp: (i + 1) * lanes * 4}, b)
		VMAXPS(low, a, low) // if one value is NaN, the result is the first operand
		VMAXPS(high, b, high)
	}
	VMAXPS(high, low, low)
	VMOVUPS(low, Mem{Base: out})
	ADDQ(U32(group*lanes*4), scores)
	ADDQ(U8(lanes*4), out)
	SUBQ(U32(group*lanes), n)
	JMP(LabelRef("next"))
	Label("done")
	VZEROUPPER()
	RET()
}
