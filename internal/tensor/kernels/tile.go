package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// panelBytes is the distance in a panel between the values of one k and the next: 32 columns of float32.
const panelBytes = 32 * 4

const tileSignature = "func(rows int, a *float32, lda int, panel *float32, depth int, ahead int, step int, from *float32, ldfrom int, c *float32, ldc int)"

// A tile has as many rows as there are registers for its sums. Other registers hold a value of a and the values
// of the panel.
const (
	rowsAVX512 = 12
	rowsAVX2   = 6
)

func tileAVX512() {
	function("tileAVX512", tileSignature,
		"tileAVX512 computes up to 12 rows of 32 columns: c = from + a · panel. lda, ldfrom and ldc",
		"are in bytes. Each sum begins with from and adds the products in the order of k, fused. For each",
		"k it prefetches step bytes, which begin ahead bytes after the panel.")
	tile(rowsAVX512, func() VecVirtual { return ZMM() }, 64)
}

func tileAVX2() {
	function("tileAVX2", tileSignature,
		"tileAVX2 computes up to 6 rows of 16 columns like [tileAVX512], bit for bit.")
	tile(rowsAVX2, func() VecVirtual { return YMM() }, 32)
}

// tile emits a variant for each number of rows up to most. Two registers of width bytes hold one row of the tile.
func tile(most int, register func() VecVirtual, width int) {
	n := Load(Param("rows"), GP64())
	for rows := most; rows > 0; rows-- {
		next := fmt.Sprintf("below%d", rows)
		if rows > 1 {
			CMPQ(n, U8(rows))
			JLT(LabelRef(next))
		}
		tileRows(rows, register, width)
		Label(next)
	}
}

func tileRows(rows int, register func() VecVirtual, width int) {
	sums := make([][2]VecVirtual, rows)
	from := loadRows("from", "ldfrom", rows)
	for i := range sums {
		for j := range sums[i] {
			sums[i][j] = register()
			VMOVUPS(from.row(i).Offset(j*width), sums[i][j])
		}
	}
	c := loadRows("c", "ldc", rows)
	for i := range sums { // prefetch the addresses that will be written
		PREFETCHT0(c.row(i))
		if 2*width > 64 {
			PREFETCHT0(c.row(i).Offset(64))
		}
	}
	a, panel := loadRows("a", "lda", rows), Load(Param("panel"), GP64())
	depth, step := Load(Param("depth"), GP64()), Load(Param("step"), GP64())
	next := Load(Param("ahead"), GP64())
	ADDQ(panel, next)
	column := [2]VecVirtual{register(), register()}
	loop, done := fmt.Sprintf("k%d", rows), fmt.Sprintf("done%d", rows)
	TESTQ(depth, depth)
	JZ(LabelRef(done))
	Label(loop)
	for j := range column {
		VMOVUPS(Mem{Base: panel, Disp: j * width}, column[j])
	}
	PREFETCHT1(Mem{Base: next})
	PREFETCHT1(Mem{Base: next, Disp: 64})
	ADDQ(step, next)
	value := register()
	for i := range sums {
		VBROADCASTSS(a.row(i), value)
		for j := range column {
			VFMADD231PS(column[j], value, sums[i][j])
		}
	}
	a.advance(4)
	ADDQ(U32(panelBytes), panel)
	DECQ(depth)
	JNZ(LabelRef(loop))
	Label(done)

	c = loadRows("c", "ldc", rows)
	for i := range sums {
		for j := range sums[i] {
			VMOVUPS(sums[i][j], c.row(i).Offset(j*width))
		}
	}
	VZEROUPPER()
	RET()
}

func zeroed(v VecVirtual, width int) {
	if width == 64 {
		VPXORD(v, v, v)
		return
	}
	VXORPS(v, v, v)
}

// rowsAt addresses rows that are stride bytes apart, with one register for three rows: an index is multiplied
// by one or two.
type rowsAt struct {
	bases  []Register
	stride Register
}

func loadRows(name, stride string, rows int) rowsAt {
	r := rowsAt{stride: Load(Param(stride), GP64())}
	for i := 0; i < rows; i += 3 {
		base := GP64()
		if i == 0 {
			Load(Param(name), base)
		} else {
			LEAQ(Mem{Base: r.bases[i/3-1], Index: r.stride, Scale: 2}, base)
			ADDQ(r.stride, base)
		}
		r.bases = append(r.bases, base)
	}
	return r
}

func (r rowsAt) row(i int) Mem {
	m := Mem{Base: r.bases[i/3]}
	if i%3 > 0 {
		m.Index, m.Scale = r.stride, uint8(i%3)
	}
	return m
}

func (r rowsAt) advance(bytes int) {
	for _, base := range r.bases {
		ADDQ(U8(bytes), base)
	}
}
