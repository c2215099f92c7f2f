package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// notAbove is the comparison !(a > b) without a trap. It is true if a value is NaN.
const notAbove = 0x12

func above() {
	const piece = 16
	function("aboveAVX2", "func(scores *float32, n int, least float32, out *int32) int",
		"aboveAVX2 is abovePortable with AVX2. n must be a multiple of 16. It returns how many indexes it wrote.")
	scores, n := Load(Param("scores"), GP64()), Load(Param("n"), GP64())
	out, found, i := Load(Param("out"), GP64()), GP64(), GP64()
	limit, err := Param("least").Resolve()
	if err != nil {
		panic(err)
	}
	least := YMM()
	VBROADCASTSS(limit.Addr, least)
	XORQ(found, found)
	XORQ(i, i)
	Label("next")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	low, high := YMM(), YMM()
	VCMPPS(U8(notAbove), Mem{Base: scores, Index: i, Scale: 4}, least, low)
	VCMPPS(U8(notAbove), Mem{Base: scores, Index: i, Scale: 4, Disp: 32}, least, high)
	bits, more := GP32(), GP32()
	VMOVMSKPS(low, bits)
	VMOVMSKPS(high, more)
	SHLL(U8(8), more)
	ORL(more, bits)
	JZ(LabelRef("none"))
	Label("bit")
	at := GP32()
	BSFL(bits, at)
	ADDL(i.As32(), at)
	MOVL(at, Mem{Base: out, Index: found, Scale: 4})
	INCQ(found)
	LEAL(Mem{Base: bits.As64(), Disp: -1}, at)
	ANDL(at, bits) // clear the lowest bit
	JNZ(LabelRef("bit"))
	Label("none")
	ADDQ(U8(piece), i)
	JMP(LabelRef("next"))
	Label("done")
	Store(found, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
