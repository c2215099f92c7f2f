package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func read() {
	readWith("readAVX2", 32, func(m Mem) { VMOVDQU(m, YMM()) })
	readWith("readAVX512", 64, func(m Mem) { VMOVDQU64(m, ZMM()) })
}

// readWith emits a loop of eight loads, each width bytes.
func readWith(name string, width int, load func(Mem)) {
	function(name, "func(p *uint8, n int)",
		name+" reads n bytes, a multiple of 512, and discards them. Benchmarks compare kernels with it.")
	p, n := Load(Param("p"), GP64()), Load(Param("n"), GP64())
	Label("next")
	SUBQ(U32(8*width), n)
	JLT(LabelRef("done"))
	for k := range 8 {
		load(Mem{Base: p, Disp: width * k})
	}
	ADDQ(U32(8*width), p)
	JMP(LabelRef("next"))
	Label("done")
	VZEROUPPER()
	RET()
}
