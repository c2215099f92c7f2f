package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A tile's quad is 64 bytes; a quad of the query has its number, four bytes and four
// words.
const (
	tileQuad  = 64
	quadSize  = 16
	quadBytes = 4
	quadWords = 8
)

// foresight is how many quads ahead are asked for: the processor can foretell what comes
// next in a piece, but not which piece does. They are to wait in the second cache, for
// which more can be on the way at once than for the first.
const foresight = 3

const scanSignature = "func(quads *int32, n int, values *uint8, stride, tiles int, scales *float32, scale float32, excess int32, out *float32)"

// places are the registers in which a scan keeps its place.
type places struct {
	quad, last, end      Register // of the query
	row, ahead           Register // where a quad of the first tile is, and a later one's
	at, size             Register // of the bytes of all tiles' quads
	out, scales          Register
	query, scale, excess VecVirtual // in all lanes
}

// scan emits a scan with registers of one width. It reads a quad of all tiles,
// then over the next, as they lie in memory; until the end, out holds whole numbers. add
// adds a quad of a tile to its sixteen sums, and finish makes products of them.
func scan(register func() VecVirtual, query func(r *places), add, finish func(r *places, sums Mem)) {
	r := &places{
		quad: Load(Param("quads"), GP64()), last: GP64(), end: Load(Param("n"), GP64()),
		row: GP64(), ahead: GP64(), at: GP64(), size: Load(Param("tiles"), GP64()),
		out: Load(Param("out"), GP64()), scales: Load(Param("scales"), GP64()),
		query: register(), scale: register(), excess: register(),
	}
	SHLQ(U8(6), r.size)
	SHLQ(U8(4), r.end)
	ADDQ(r.quad, r.end)
	LEAQ(Mem{Base: r.end, Disp: -quadSize}, r.last)
	VBROADCASTSS(param("scale"), r.scale)
	VBROADCASTSS(param("excess"), r.excess) // whose bits are as good as any other
	sums := Mem{Base: r.out, Index: r.at, Scale: 1}
	r.tiles("first", func() {
		for disp := 0; disp < tileQuad; disp += int(r.excess.Size()) {
			VMOVUPS(r.excess, sums.Offset(disp))
		}
	})

	Label("quad")
	CMPQ(r.quad, r.end)
	JGE(LabelRef("products"))
	query(r)
	r.find(r.quad, r.row)
	LEAQ(Mem{Base: r.quad, Disp: foresight * quadSize}, r.ahead)
	CMPQ(r.ahead, r.last)
	CMOVQGT(r.last, r.ahead)
	r.find(r.ahead, r.ahead)
	r.tiles("add", func() {
		PREFETCHT1(Mem{Base: r.ahead, Index: r.at, Scale: 1})
		add(r, sums)
	})
	ADDQ(U8(quadSize), r.quad)
	JMP(LabelRef("quad"))

	Label("products")
	r.tiles("product", func() { finish(r, sums) })
	VZEROUPPER()
	RET()
}

// find emits where the first tile has the values for a quad of the query.
func (r *places) find(quad, row Register) {
	MOVLQSX(Mem{Base: quad}, row)
	IMULQ(param("stride"), row)
	ADDQ(param("values"), row)
}

// tiles emits a loop over tiles.
func (r *places) tiles(name string, do func()) {
	XORQ(r.at, r.at)
	JMP(LabelRef(name + "check"))
	Label(name)
	do()
	ADDQ(U8(tileQuad), r.at)
	Label(name + "check")
	CMPQ(r.at, r.size)
	JLT(LabelRef(name))
}

// finish stores products as float32 times the row's scale times the query's, in
// this order, as the portable function does.
func (r *places) finish(sums VecVirtual, out Mem) {
	VCVTDQ2PS(sums, sums)
	VMULPS(Mem{Base: r.scales, Index: r.at, Scale: 1, Disp: out.Disp}, sums, sums)
	VMULPS(r.scale, sums, sums)
	VMOVUPS(sums, out)
}

func param(name string) Mem {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

func scanAVX512() {
	function("scanAVX512", scanSignature,
		"scanAVX512 is scanPortable of so many tiles with AVX-512 VNNI; the excess is below zero.")
	scan(func() VecVirtual { return ZMM() }, func(r *places) {
		VPBROADCASTD(Mem{Base: r.quad, Disp: quadBytes}, r.query)
	}, func(r *places, out Mem) {
		sums, values := ZMM(), ZMM()
		VMOVDQU32(out, sums)
		VMOVDQU32(Mem{Base: r.row, Index: r.at, Scale: 1}, values)
		VPDPBUSD(r.query, values, sums)
		VMOVDQU32(sums, out)
	}, func(r *places, out Mem) {
		sums := ZMM()
		VMOVDQU32(out, sums)
		r.finish(sums, out)
	})
}

// scanAVX2 has the sums of each eight rows in the order that adding pairs leaves.
func scanAVX2() {
	function("scanAVX2", scanSignature,
		"scanAVX2 is scanPortable of so many tiles with AVX2; the excess is below zero.")
	scan(func() VecVirtual { return YMM() }, func(r *places) {
		VPBROADCASTQ(Mem{Base: r.quad, Disp: quadWords}, r.query)
	}, func(r *places, out Mem) {
		for disp := 0; disp < tileQuad; disp += 32 {
			var pairs [2]VecVirtual // of four rows each, two for each row
			for k := range pairs {
				pairs[k] = YMM()
				VPMOVZXBW(Mem{Base: r.row, Index: r.at, Scale: 1, Disp: disp + 16*k}, pairs[k])
				VPMADDWD(r.query, pairs[k], pairs[k])
			}
			VPHADDD(pairs[1], pairs[0], pairs[0])
			VPADDD(out.Offset(disp), pairs[0], pairs[0])
			VMOVDQU(pairs[0], out.Offset(disp))
		}
	}, func(r *places, out Mem) {
		for disp := 0; disp < tileQuad; disp += 32 {
			sums := YMM()
			VPERMQ(U8(0b11_01_10_00), out.Offset(disp), sums)
			r.finish(sums, out.Offset(disp))
		}
	})
}
