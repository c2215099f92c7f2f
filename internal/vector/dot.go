package vector

// lanes is the number of parallel sums (lanes) of an inner product: the product of the values i is rounded and
// added to lane i mod lanes. At the end the upper half of the lanes is added to the lower half until one lane
// remains. All tiers use this order, because otherwise rankings would depend on the machine.
const lanes = 32

// Dot returns the inner product of two vectors of equal length. It panics if b is shorter than a.
func Dot(a, b []float32) float32 { return dot(a, b[:len(a)]) }

// DotHalf returns the inner product of a with a vector of finite half-precision values. It panics
// if b is shorter than a.
func DotHalf(a []float32, b []uint16) float32 { return dotHalf(a, b[:len(a)]) }

type laneBlock [lanes]float32

func dotPortable(a, b []float32) float32 {
	var sums, x, y laneBlock
	for len(a) >= lanes && len(b) >= lanes {
		sums.add((*laneBlock)(a), (*laneBlock)(b))
		a, b = a[lanes:], b[lanes:]
	}
	copy(x[:], a)
	copy(y[:], b)
	sums.add(&x, &y)
	return sums.total()
}

func dotHalfPortable(a []float32, b []uint16) float32 {
	var sums, x laneBlock
	var y [lanes]uint16
	for len(a) >= lanes && len(b) >= lanes {
		sums.addHalf((*laneBlock)(a), (*[lanes]uint16)(b))
		a, b = a[lanes:], b[lanes:]
	}
	copy(x[:], a)
	copy(y[:], b)
	sums.addHalf(&x, &y)
	return sums.total()
}

// add adds the products of a and b to the lanes. The conversion to float32 prevents the compiler from fusing
// multiplication and addition. Eight values at a time need no bounds checks.
func (p *laneBlock) add(a, b *laneBlock) {
	for i := 0; i < lanes; i += 8 {
		s, x, y := (*[8]float32)(p[i:]), (*[8]float32)(a[i:]), (*[8]float32)(b[i:])
		s[0] += float32(x[0] * y[0])
		s[1] += float32(x[1] * y[1])
		s[2] += float32(x[2] * y[2])
		s[3] += float32(x[3] * y[3])
		s[4] += float32(x[4] * y[4])
		s[5] += float32(x[5] * y[5])
		s[6] += float32(x[6] * y[6])
		s[7] += float32(x[7] * y[7])
	}
}

// addHalf is [laneBlock.add] for half-precision values.
func (p *laneBlock) addHalf(a *laneBlock, b *[lanes]uint16) {
	for i := 0; i < lanes; i += 8 {
		s, x, y := (*[8]float32)(p[i:]), (*[8]float32)(a[i:]), (*[8]uint16)(b[i:])
		s[0] += float32(x[0] * decodeFinite(y[0]))
		s[1] += float32(x[1] * decodeFinite(y[1]))
		s[2] += float32(x[2] * decodeFinite(y[2]))
		s[3] += float32(x[3] * decodeFinite(y[3]))
		s[4] += float32(x[4] * decodeFinite(y[4]))
		s[5] += float32(x[5] * decodeFinite(y[5]))
		s[6] += float32(x[6] * decodeFinite(y[6]))
		s[7] += float32(x[7] * decodeFinite(y[7]))
	}
}

func (p *laneBlock) total() float32 {
	for half := lanes / 2; half > 0; half /= 2 {
		for i := range half {
			p[i] += p[i+half]
		}
	}
	return p[0]
}
