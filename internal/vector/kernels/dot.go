package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// lanes is the number of parallel sums, as in the portable functions.
const lanes = 32

// side is one of the two vectors of an inner product.
type side struct {
	name string
	half bool // half precision; otherwise float32
	at   Register
}

func (s *side) size() int {
	if s.half {
		return 2
	}
	return 4
}

func (s *side) kind() string {
	if s.half {
		return "*uint16"
	}
	return "*float32"
}

func dotKernels() {
	dot("dotAVX2", side{name: "a"}, side{name: "b"})
	dot("dotHalfAVX2", side{name: "a"}, side{name: "b", half: true})
}

// dot emits an inner product. It copies the values after the last whole piece into zeros on the stack and
// processes them as another piece. Adding 0 changes no lane.
func dot(name string, a, b side) {
	function(name, "func(a "+a.kind()+", b "+b.kind()+", n int) float32",
		name+" gives the same bits as its portable counterpart, with AVX2.")
	a.at, b.at = Load(Param("a"), GP64()), Load(Param("b"), GP64())
	n := Load(Param("n"), GP64())
	var sums [lanes / 8]VecVirtual
	for k := range sums {
		sums[k] = YMM()
		VXORPS(sums[k], sums[k], sums[k])
	}
	Label("pieces")
	CMPQ(n, U8(lanes))
	JLT(LabelRef("rest"))
	Label("piece")
	for k := range sums {
		product := eight(a, k)
		if b.half {
			VMULPS(eight(b, k), product, product)
		} else {
			VMULPS(Mem{Base: b.at, Disp: 32 * k}, product, product)
		}
		VADDPS(product, sums[k], sums[k])
	}
	ADDQ(U32(lanes*a.size()), a.at)
	ADDQ(U32(lanes*b.size()), b.at)
	SUBQ(U8(lanes), n)
	JMP(LabelRef("pieces"))

	Label("rest")
	TESTQ(n, n)
	JLE(LabelRef("sum"))
	zero := YMM()
	VXORPS(zero, zero, zero)
	for _, s := range []*side{&a, &b} {
		padded, i := AllocLocal(lanes*s.size()), GP64()
		for k := 0; k < lanes*s.size(); k += 32 {
			VMOVUPS(zero, padded.Offset(k))
		}
		XORQ(i, i)
		Label("copy" + s.name)
		if s.half {
			x := GP16()
			MOVW(Mem{Base: s.at, Index: i, Scale: 2}, x)
			MOVW(x, padded.Idx(i, 2))
		} else {
			x := GP32()
			MOVL(Mem{Base: s.at, Index: i, Scale: 4}, x)
			MOVL(x, padded.Idx(i, 4))
		}
		INCQ(i)
		CMPQ(i, n)
		JLT(LabelRef("copy" + s.name))
		LEAQ(padded, s.at)
	}
	MOVQ(U32(lanes), n)
	JMP(LabelRef("piece"))

	Label("sum")
	for half := len(sums) / 2; half > 0; half /= 2 {
		for k := range half {
			VADDPS(sums[k+half], sums[k], sums[k])
		}
	}
	sum, other := sums[0].AsX(), XMM()
	VEXTRACTF128(U8(1), sums[0], other)
	VADDPS(other, sum, sum)
	VPERMILPS(U8(0b1110), sum, other)
	VADDPS(other, sum, sum)
	VPERMILPS(U8(0b01), sum, other)
	VADDSS(other, sum, sum)
	Store(sum, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// eight loads the k-th eight values of a piece.
func eight(s side, k int) VecVirtual {
	x := YMM()
	if s.half {
		VCVTPH2PS(Mem{Base: s.at, Disp: 16 * k}, x)
	} else {
		VMOVUPS(Mem{Base: s.at, Disp: 32 * k}, x)
	}
	return x
}
