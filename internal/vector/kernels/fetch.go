package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// fetch emits hints for the cache, a line at a time. A hint for what may not be read
// does nothing.
func fetch() {
	function("fetchSSE", "func(p *uint16, lines int)",
		"fetchSSE asks for so many lines of 64 bytes to be brought into the nearest cache.")
	p, lines := Load(Param("p"), GP64()), Load(Param("lines"), GP64())
	Label("next")
	SUBQ(U8(1), lines)
	JLT(LabelRef("done"))
	PREFETCHT0(Mem{Base: p})
	ADDQ(U8(64), p)
	JMP(LabelRef("next"))
	Label("done")
	RET()
}
