package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// fetch emits prefetch instructions, one for each cache line. Prefetching an address that may not be read does nothing.
func fetch() {
	function("fetchSSE", "func(p *uint16, lines int)",
		"fetchSSE prefetches the given number of 64-byte lines into the first-level cache.")
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
