package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// lane is the size in bytes of eight float32 values, which fill a YMM register.
const lane = 32

// wide selects the registers of one tier.
type wide struct {
	name  string
	bytes int
}

var avx2, avx512 = wide{"AVX2", lane}, wide{"AVX512", 2 * lane}

func (w wide) register() VecVirtual {
	if w == avx512 {
		return ZMM()
	}
	return YMM()
}

func (w wide) zero() VecVirtual {
	v := w.register()
	zeroed(v, w.bytes)
	return v
}

func (w wide) constant(x float32) VecVirtual {
	v := w.register()
	VMOVUPS(filled(x), v)
	return v
}

// constants are the constants emitted so far, by their bits.
var constants = map[uint32]Mem{}

// filled returns a constant that fills a register of any width.
func filled(x float32) Mem { return filledBits(math.Float32bits(x)) }

func filledBits(bits uint32) Mem {
	if m, ok := constants[bits]; ok {
		return m
	}
	m := GLOBL(fmt.Sprintf("filled_%08x", bits), RODATA|NOPTR)
	for i := range avx512.bytes / 4 {
		DATA(4*i, U32(bits))
	}
	constants[bits] = m
	return m
}

// exp emits e^x for x in [-87, 87], exact to two units in the last place. It uses x = n·ln 2 + r, the Taylor
// series of e^r up to r⁷, and adds n to the exponent.
func (w wide) exp(x VecVirtual) VecVirtual {
	n := w.register()
	VMULPS(filled(math.Log2E), x, n)
	if w == avx512 {
		VRNDSCALEPS(U8(8), n, n) // round to nearest without exceptions
	} else {
		VROUNDPS(U8(8), n, n)
	}
	VFNMADD231PS(filled(0.693359375), n, x) // the first bits of ln 2; the product with n is exact
	VFNMADD231PS(filled(math.Ln2-0.693359375), n, x)
	e := w.constant(1.0 / 5040)
	for _, c := range []float32{1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1, 1} {
		VFMADD213PS(filled(c), x, e)
	}
	VCVTPS2DQ(n, n)
	VPSLLD(U8(23), n, n)
	VPADDD(n, e, e)
	return e
}

// gelu uses formula 7.1.26 of Abramowitz and Stegun, Handbook of Mathematical Functions.
func (w wide) gelu() {
	name := "gelu" + w.name
	function(name, "func(x *float32, n int)",
		name+" approximates geluPortable to within 2e-7 of the larger of 1 and |x|. n is a multiple of 16.")
	at, n := Load(Param("x"), GP64()), Load(Param("n"), GP64())
	Label("gelu")
	x, size := w.register(), w.register()
	VMOVUPS(Mem{Base: at}, x)
	if w == avx512 {
		VPANDD(filledBits(0x7fffffff), x, size)
	} else {
		VPAND(filledBits(0x7fffffff), x, size)
	}

	upper, t := w.constant(1), w.constant(0.3275911/math.Sqrt2) // t = 1 / (1 + p·|x|/√2)
	VFMADD213PS(upper, size, t)
	VDIVPS(t, upper, t)

	power := w.register() // -x²/2, limited to the range of exp
	VMULPS(x, x, power)
	VMULPS(filled(-0.5), power, power)
	VMAXPS(filled(-87), power, power)
	e := w.exp(power)

	tail := w.constant(1.061405429 / 2) // the share of the normal distribution beyond |x|
	for _, c := range []float32{-1.453152027 / 2, 1.421413741 / 2, -0.284496736 / 2, 0.254829592 / 2} {
		VFMADD213PS(filled(c), t, tail)
	}
	VMULPS(t, tail, tail)
	VMULPS(e, tail, tail)

	VSUBPS(tail, upper, upper) // 1 - tail, for values that are not negative
	if w == avx512 {
		negative := K()
		VCMPPS(U8(1), w.zero(), x, negative)
		VBLENDMPS(tail, upper, negative, tail)
	} else {
		VBLENDVPS(x, tail, upper, tail)
	}
	VMULPS(x, tail, x)
	VMOVUPS(x, Mem{Base: at})
	ADDQ(U8(w.bytes), at)
	SUBQ(U8(w.bytes/4), n)
	JNZ(LabelRef("gelu"))
	VZEROUPPER()
	RET()
}

// softmax keeps sixteen sums, in two registers if one register is too small, so that all tiers add in the same order.
func (w wide) softmax() {
	name := "softmax" + w.name
	function(name, "func(x *float32, scale float32, n int)",
		name+" approximates softmaxPortable to within 1e-6. n is a multiple of 16.")
	x, n := Load(Param("x"), GP64()), Load(Param("n"), GP64())
	scale := w.register()
	VBROADCASTSS(param("scale"), scale)
	end := GP64()
	LEAQ(Mem{Base: x, Index: n, Scale: 4}, end)
	parts := avx512.bytes / w.bytes
	each := func(label string, do func(part int, at Mem)) {
		at := GP64()
		MOVQ(x, at)
		Label(label)
		for part := range parts {
			do(part, Mem{Base: at, Disp: part * w.bytes})
		}
		ADDQ(U8(avx512.bytes), at)
		CMPQ(at, end)
		JLT(LabelRef(label))
	}
	// all combines the values of the registers into each element of the first.
	all := func(v []VecVirtual, with func(...Op)) VecVirtual {
		half := YMM()
		if w == avx512 {
			VEXTRACTF64X4(U8(1), v[0], half)
			with(half, v[0].AsY(), half)
		} else {
			with(v[1], v[0], half)
		}
		across(half, with)
		if w == avx2 {
			return half
		}
		whole := ZMM()
		VBROADCASTSS(half.AsX(), whole)
		return whole
	}
	start := func(v func() VecVirtual) (out []VecVirtual) {
		for range parts {
			out = append(out, v())
		}
		return out
	}

	most := start(func() VecVirtual { return w.constant(float32(math.Inf(-1))) })
	each("most", func(part int, at Mem) { VMAXPS(at, most[part], most[part]) })
	peak := all(most, VMAXPS)
	VMULPS(scale, peak, peak)

	sums := start(w.zero)
	each("exp", func(part int, at Mem) {
		v := w.register()
		VMOVUPS(at, v)
		VFMSUB213PS(peak, scale, v)
		VMAXPS(filled(-87), v, v)
		e := w.exp(v)
		VADDPS(e, sums[part], sums[part])
		VMOVUPS(e, at)
	})
	sum := all(sums, VADDPS)
	VDIVPS(sum, w.constant(1), sum)
	each("scale", func(part int, at Mem) {
		v := w.register()
		VMULPS(at, sum, v)
		VMOVUPS(v, at)
	})
	VZEROUPPER()
	RET()
}

func layerNorm() {
	function("layerNormAVX2", "func(dst *float32, x *float32, bias *float32, gain *float32, shift *float32, eps float32, n int)",
		"layerNormAVX2 is layerNormPortable with AVX2. n is a multiple of 8.")
	dst, x, bias := Load(Param("dst"), GP64()), Load(Param("x"), GP64()), Load(Param("bias"), GP64())
	gain, shift, n := Load(Param("gain"), GP64()), Load(Param("shift"), GP64()), Load(Param("n"), GP64())
	each := func(label string, do func(i Register)) {
		i := GP64()
		XORQ(i, i)
		Label(label)
		do(i)
		ADDQ(U8(8), i)
		CMPQ(i, n)
		JLT(LabelRef(label))
	}
	at := func(base, i Register) Mem { return Mem{Base: base, Index: i, Scale: 4} }
	count, one := XMM(), XMM()
	VCVTSI2SSQ(n, count, count)
	VMOVSS(filled(1), one)
	VDIVSS(count, one, count)
	part := YMM() // 1/n
	VBROADCASTSS(count, part)

	mean := YMM()
	VXORPS(mean, mean, mean)
	each("mean", func(i Register) {
		v := YMM()
		VMOVUPS(at(x, i), v)
		VADDPS(at(bias, i), v, v)
		VMOVUPS(v, at(dst, i))
		VADDPS(v, mean, mean)
	})
	across(mean, VADDPS)
	VMULPS(part, mean, mean)

	spread := YMM()
	VXORPS(spread, spread, spread)
	each("spread", func(i Register) {
		v := YMM()
		VMOVUPS(at(dst, i), v)
		VSUBPS(mean, v, v)
		VFMADD231PS(v, v, spread)
		VMOVUPS(v, at(dst, i))
	})
	across(spread, VADDPS)
	eps := YMM()
	VBROADCASTSS(param("eps"), eps)
	VFMADD213PS(eps, part, spread)
	VSQRTPS(spread, spread)
	VMOVUPS(filled(1), eps)
	VDIVPS(spread, eps, spread)
	each("norm", func(i Register) {
		v := YMM()
		VMULPS(at(dst, i), spread, v)
		g := YMM()
		VMOVUPS(at(gain, i), g)
		VFMADD213PS(at(shift, i), g, v)
		VMOVUPS(v, at(dst, i))
	})
	VZEROUPPER()
	RET()
}

// across combines the eight values of a register into each of its elements.
func across(v VecVirtual, with func(...Op)) {
	other := YMM()
	VPERM2F128(U8(1), v, v, other)
	with(other, v, v)
	VPERMILPS(U8(0b01_00_11_10), v, other)
	with(other, v, v)
	VPERMILPS(U8(0b10_11_00_01), v, other)
	with(other, v, v)
}

func param(name string) Mem {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}
