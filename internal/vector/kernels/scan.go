package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// together is how many tiles are multiplied with each quad of the query, so that no
// product waits for the one before.
const together = 4

// A tile's quad is 64 bytes; a quad of the query has where that is, four bytes and
// four words.
const (
	tileRows  = 16
	quadSize  = 16
	quadBytes = 4
	quadWords = 8
)

const scanSignature = "func(quads *int32, n int, values *uint8, tile, tiles int, scales *float32, scale float32, excess int32, out *float32)"

// tiles are the registers in which a scan keeps its place.
type tiles struct {
	quads, end, quad, at, ahead Register
	tile, left, scales, out     Register
	row                         [together]Register // where each tile of a pass begins
	scale, excess               VecVirtual         // in all lanes
}

// loadTiles begins a scan with registers of the given width.
func loadTiles(register func() VecVirtual) *tiles {
	r := &tiles{
		quads: Load(Param("quads"), GP64()), end: Load(Param("n"), GP64()), quad: GP64(), at: GP64(), ahead: GP64(),
		tile: Load(Param("tile"), GP64()), left: Load(Param("tiles"), GP64()),
		scales: Load(Param("scales"), GP64()), out: Load(Param("out"), GP64()),
		scale: register(), excess: register(),
	}
	for k := range r.row {
		r.row[k] = GP64()
	}
	Load(Param("values"), r.row[0])
	SHLQ(U8(4), r.end)
	ADDQ(r.quads, r.end)
	VBROADCASTSS(param("scale"), r.scale)
	VBROADCASTSS(param("excess"), r.excess) // whose bits are as good as any other
	return r
}

func param(name string) Mem {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// scan emits loops over tiles: so many at a time, then one at a time. pass emits what
// is done with each quad, for n tiles; finish takes the sums of the kth to out.
func (r *tiles) scan(most int, begin, pass func(n int), finish func(k int)) {
	for n := most; n > 0; n = min(1, n-1) {
		name := fmt.Sprintf("tiles%d", n)
		Label(name)
		CMPQ(r.left, U8(n))
		JLT(LabelRef(name + "end"))
		for k := 1; k < n; k++ {
			LEAQ(Mem{Base: r.row[k-1], Index: r.tile, Scale: 1}, r.row[k])
		}
		begin(n)
		MOVQ(r.quads, r.quad)
		JMP(LabelRef(name + "check"))
		Label(name + "quad")
		MOVLQSX(Mem{Base: r.quad}, r.at)
		LEAQ(Mem{Base: r.at, Index: r.tile, Scale: together}, r.ahead)
		for k := range n { // the processor cannot foretell which quads of a tile are read
			PREFETCHT0(Mem{Base: r.row[k], Index: r.ahead, Scale: 1})
		}
		pass(n)
		ADDQ(U8(quadSize), r.quad)
		Label(name + "check")
		CMPQ(r.quad, r.end)
		JLT(LabelRef(name + "quad"))
		for k := range n {
			finish(k)
		}
		LEAQ(Mem{Base: r.row[n-1], Index: r.tile, Scale: 1}, r.row[0])
		ADDQ(I32(n*tileRows*4), r.scales)
		ADDQ(I32(n*tileRows*4), r.out)
		SUBQ(U8(n), r.left)
		JMP(LabelRef(name))
		Label(name + "end")
	}
	VZEROUPPER()
	RET()
}

// finish stores products as float32 times the row's scale times the query's, in
// this order, as the portable function does.
func (r *tiles) finish(sums VecVirtual, at int) {
	VPSUBD(r.excess, sums, sums)
	VCVTDQ2PS(sums, sums)
	VMULPS(Mem{Base: r.scales, Disp: at}, sums, sums)
	VMULPS(r.scale, sums, sums)
	VMOVUPS(sums, Mem{Base: r.out, Disp: at})
}

func scanAVX512() {
	function("scanAVX512", scanSignature,
		"scanAVX512 is scanPortable of so many tiles, of so many bytes each, with AVX-512 VNNI.")
	zmm := func() VecVirtual { return ZMM() }
	r := loadTiles(zmm)
	var sums [together]VecVirtual
	for k := range sums {
		sums[k] = ZMM()
	}
	r.scan(together, func(n int) {
		for _, sum := range sums[:n] {
			VPXORD(sum, sum, sum)
		}
	}, func(n int) {
		query := ZMM()
		VPBROADCASTD(Mem{Base: r.quad, Disp: quadBytes}, query)
		for k, sum := range sums[:n] {
			values := ZMM()
			VMOVDQU32(Mem{Base: r.row[k], Index: r.at, Scale: 1}, values)
			VPDPBUSD(query, values, sum)
		}
	}, func(k int) { r.finish(sums[k], k*tileRows*4) })
}

func scanAVX2() {
	function("scanAVX2", scanSignature,
		"scanAVX2 is scanPortable of so many tiles, of so many bytes each, with AVX2.")
	r := loadTiles(func() VecVirtual { return YMM() })
	var sums [4]VecVirtual // of four rows each, two for each row
	for k := range sums {
		sums[k] = YMM()
	}
	r.scan(1, func(int) {
		for _, sum := range sums {
			VPXOR(sum, sum, sum)
		}
	}, func(int) {
		query := YMM()
		VPBROADCASTQ(Mem{Base: r.quad, Disp: quadWords}, query)
		for k, sum := range sums {
			values := YMM()
			VPMOVZXBW(Mem{Base: r.row[0], Index: r.at, Scale: 1, Disp: 16 * k}, values)
			VPMADDWD(query, values, values)
			VPADDD(values, sum, sum)
		}
	}, func(int) {
		for k := 0; k < len(sums); k += 2 {
			both := YMM()
			VPHADDD(sums[k+1], sums[k], both)
			VPERMQ(U8(0b11_01_10_00), both, both)
			r.finish(both, 16*k)
		}
	})
}
