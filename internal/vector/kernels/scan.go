package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A tile's quad is 64 bytes. A quad of the query is its index, four bytes and four 16-bit words.
const (
	tileQuad  = 64
	quadSize  = 16
	quadBytes = 4
	quadWords = 8
)

// foresight is how many quads ahead are prefetched. The processor predicts the next address within a piece, but
// not the next piece. Prefetching goes to the second-level cache, which allows more concurrent loads than the
// first-level cache.
const foresight = 3

const scanSignature = "func(quads *int32, n int, values *uint8, stride, tiles int, scales *float32, scale float32, excess int32, out *float32)"

// places are the registers that hold the position of a scan.
type places struct {
	quad, last, end      Register // positions in the query
	row, ahead           Register // positions of a quad of the first tile, and of a later quad
	at, size             Register // offset and size in bytes of the quads of all tiles
	out, scales          Register
	query, scale, excess VecVirtual // values broadcast to all lanes
}

// scan emits a scan with registers of one width. It reads one quad of all tiles, then the next, in memory
// order. Until the end, out holds integer sums. add adds a quad of a tile to its sixteen sums, and finish
// converts the sums to products.
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
	VBROADCASTSS(param("excess"), r.excess) // an integer; its bits are copied unchanged
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

// find emits the address of the first tile's values for a quad of the query.
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

// finish emits the store of products: float32 times the row's scale, then times the query's scale. The portable
// function uses the same order.
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
		"scanAVX512 is scanPortable for the given number of tiles, with AVX-512 VNNI. The excess is negative.")
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

// scanAVX2 keeps the sums of each eight rows in the order in which adding pairs leaves them.
func scanAVX2() {
	function("scanAVX2", scanSignature,
		"scanAVX2 is scanPortable for the given number of tiles, with AVX2. The excess is negative.")
	scan(func() VecVirtual { return YMM() }, func(r *places) {
		VPBROADCASTQ(Mem{Base: r.quad, Disp: quadWords}, r.query)
	}, func(r *places, out Mem) {
		for disp := 0; disp < tileQuad; disp += 32 {
			var pairs [2]VecVirtual // each has four rows, with two sums for each row
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
