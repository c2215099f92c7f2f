package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// lane is eight float32: what a YMM register holds.
const lane = 32

// constants are the eightfold constants emitted so far, by their bits.
var constants = map[uint32]Mem{}

// eight returns a constant that fills a register.
func eight(x float32) Mem { return eightBits(math.Float32bits(x)) }

func eightBits(bits uint32) Mem {
	if m, ok := constants[bits]; ok {
		return m
	}
	m := GLOBL(fmt.Sprintf("eight_%08x", bits), RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(bits))
	}
	constants[bits] = m
	return m
}

// exp emits e^x for x in [-87, 87], to within two units in the last place: with
// x = n·ln 2 + r, Taylor's series of e^r up to r⁷, and n added to the exponent.
func exp(x VecVirtual) VecVirtual {
	n, e := YMM(), YMM()
	VMULPS(eight(math.Log2E), x, n)
	VROUNDPS(U8(8), n, n)                  // to the nearest, quietly
	VFNMADD231PS(eight(0.693359375), n, x) // the first bits of ln 2, exact with any n
	VFNMADD231PS(eight(math.Ln2-0.693359375), n, x)
	VMOVUPS(eight(1.0/5040), e)
	for _, c := range []float32{1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1, 1} {
		VFMADD213PS(eight(c), x, e)
	}
	VCVTPS2DQ(n, n)
	VPSLLD(U8(23), n, n)
	VPADDD(n, e, e)
	return e
}

// gelu follows 7.1.26 of Abramowitz and Stegun, Handbook of Mathematical Functions.
func gelu() {
	function("geluAVX2", "func(x *float32, bias *float32, n int)",
		"geluAVX2 is geluPortable with AVX2, to within 2e-7 of the larger of 1 and |x|. n is a multiple of 8.")
	at, bias, n := Load(Param("x"), GP64()), Load(Param("bias"), GP64()), Load(Param("n"), GP64())
	Label("gelu")
	x, size := YMM(), YMM()
	VMOVUPS(Mem{Base: at}, x)
	VADDPS(Mem{Base: bias}, x, x)
	VANDPS(eightBits(0x7fffffff), x, size)

	t, upper := YMM(), YMM() // t = 1 / (1 + p·|x|/√2)
	VMOVUPS(eight(1), upper)
	VMOVUPS(eight(0.3275911/math.Sqrt2), t)
	VFMADD213PS(upper, size, t)
	VDIVPS(t, upper, t)

	power := YMM() // -x²/2, no smaller than what exp takes
	VMULPS(x, x, power)
	VMULPS(eight(-0.5), power, power)
	VMAXPS(eight(-87), power, power)
	e := exp(power)

	tail := YMM() // the part of the normal distribution beyond |x|
	VMOVUPS(eight(1.061405429/2), tail)
	for _, c := range []float32{-1.453152027 / 2, 1.421413741 / 2, -0.284496736 / 2, 0.254829592 / 2} {
		VFMADD213PS(eight(c), t, tail)
	}
	VMULPS(t, tail, tail)
	VMULPS(e, tail, tail)

	VSUBPS(tail, upper, upper) // 1 - tail, for what is not negative
	VBLENDVPS(x, tail, upper, tail)
	VMULPS(x, tail, x)
	VMOVUPS(x, Mem{Base: at})
	ADDQ(U8(lane), at)
	ADDQ(U8(lane), bias)
	SUBQ(U8(8), n)
	JNZ(LabelRef("gelu"))
	VZEROUPPER()
	RET()
}

func softmax() {
	function("softmaxAVX2", "func(x *float32, scale float32, n int)",
		"softmaxAVX2 is softmaxPortable with AVX2, of no more than 1e-6 apart. n is a multiple of 8.")
	x, n := Load(Param("x"), GP64()), Load(Param("n"), GP64())
	scale := YMM()
	VBROADCASTSS(param("scale"), scale)
	end := GP64()
	LEAQ(Mem{Base: x, Index: n, Scale: 4}, end)
	each := func(label string, do func(at Mem)) {
		at := GP64()
		MOVQ(x, at)
		Label(label)
		do(Mem{Base: at})
		ADDQ(U8(lane), at)
		CMPQ(at, end)
		JLT(LabelRef(label))
	}

	most := YMM()
	VMOVUPS(eight(float32(math.Inf(-1))), most)
	each("most", func(at Mem) { VMAXPS(at, most, most) })
	across(most, VMAXPS)
	VMULPS(scale, most, most)

	sum := YMM()
	VXORPS(sum, sum, sum)
	each("exp", func(at Mem) {
		v := YMM()
		VMOVUPS(at, v)
		VFMSUB213PS(most, scale, v)
		VMAXPS(eight(-87), v, v)
		e := exp(v)
		VADDPS(e, sum, sum)
		VMOVUPS(e, at)
	})
	across(sum, VADDPS)
	one := YMM()
	VMOVUPS(eight(1), one)
	VDIVPS(sum, one, sum)
	each("scale", func(at Mem) {
		v := YMM()
		VMULPS(at, sum, v)
		VMOVUPS(v, at)
	})
	VZEROUPPER()
	RET()
}

func layerNorm() {
	function("layerNormAVX2", "func(x *float32, bias *float32, gain *float32, shift *float32, eps float32, n int)",
		"layerNormAVX2 is layerNormPortable with AVX2. n is a multiple of 8.")
	x, bias := Load(Param("x"), GP64()), Load(Param("bias"), GP64())
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
	VMOVSS(eight(1), one)
	VDIVSS(count, one, count)
	part := YMM() // 1/n
	VBROADCASTSS(count, part)

	mean := YMM()
	VXORPS(mean, mean, mean)
	each("mean", func(i Register) {
		v := YMM()
		VMOVUPS(at(x, i), v)
		VADDPS(at(bias, i), v, v)
		VMOVUPS(v, at(x, i))
		VADDPS(v, mean, mean)
	})
	across(mean, VADDPS)
	VMULPS(part, mean, mean)

	spread := YMM()
	VXORPS(spread, spread, spread)
	each("spread", func(i Register) {
		v := YMM()
		VMOVUPS(at(x, i), v)
		VSUBPS(mean, v, v)
		VFMADD231PS(v, v, spread)
		VMOVUPS(v, at(x, i))
	})
	across(spread, VADDPS)
	eps := YMM()
	VBROADCASTSS(param("eps"), eps)
	VFMADD213PS(eps, part, spread)
	VSQRTPS(spread, spread)
	VMOVUPS(eight(1), eps)
	VDIVPS(spread, eps, spread)
	each("norm", func(i Register) {
		v := YMM()
		VMULPS(at(x, i), spread, v)
		g := YMM()
		VMOVUPS(at(gain, i), g)
		VFMADD213PS(at(shift, i), g, v)
		VMOVUPS(v, at(x, i))
	})
	VZEROUPPER()
	RET()
}

// across combines the eight values of a register into each of them.
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
