package vector

import "math"

// tiny is the largest value of vectors that [Quantize] takes for zeros: with less,
// the scale would be too small to be divided by exactly.
const tiny = 127 * 0x1p-126

// Quantize writes v into dst as int8 and returns the scale that leads back,
// v[i] ≈ scale * dst[i], and the sum of dst. The largest value becomes ±127. The
// values must be finite. It panics if dst is shorter than v.
func Quantize(v []float32, dst []int8) (scale float32, sum int32) {
	dst = dst[:len(v)]
	most := largest(v)
	if most < tiny {
		clear(dst)
		return 0, 0
	}
	scale = most / 127
	return scale, round(dst, v, scale)
}

// largestPortable returns the largest of the values without their signs, 0 for
// none. Bits without the sign are in the order of their values.
func largestPortable(v []float32) float32 {
	var most uint32
	for _, x := range v {
		most = max(most, math.Float32bits(x)&^(1<<31))
	}
	return math.Float32frombits(most)
}

// roundPortable writes v divided by scale, ties to even, and returns the sum. A
// number so large that its last bit counts ones rounds what is added to it, and the
// integer is then in its low bits.
func roundPortable(dst []int8, v []float32, scale float32) (sum int32) {
	const ones = 3 << 22
	for i, x := range v {
		dst[i] = int8(math.Float32bits(x/scale + ones))
		sum += int32(dst[i])
	}
	return sum
}

// Block is quantized vectors of one length that lie one after the other.
type Block struct {
	Values []int8    // of all rows
	Scales []float32 // of each row, as [Quantize] gives them
	Sums   []int32   // of each row, as [Quantize] gives them
}

// Rows returns the rows from one to before another, of the length dims.
func (b Block) Rows(from, to, dims int) Block {
	return Block{b.Values[from*dims : to*dims], b.Scales[from:to], b.Sums[from:to]}
}

// padding is what the capacity of a query's values is a multiple of, zeros beyond
// their length: kernels read whole registers of them.
const padding = 64

// Query is a question's vector made ready to be scanned with.
type Query struct {
	values []int8
	scale  float32
}

// NewQuery returns the query of v, which may be up to 65536 long.
func NewQuery(v []float32) Query {
	q := Query{values: make([]int8, len(v), (len(v)+padding-1)/padding*padding)}
	q.scale, _ = Quantize(v, q.values)
	return q
}

// Scan writes the inner products of the query with the rows of a block, which are
// as long as the query. The scales say how many rows there are; out must hold as
// many. It panics if the block or out is shorter than that.
func Scan(q Query, b Block, out []float32) {
	rows := len(b.Scales)
	b.Values, b.Sums = b.Values[:rows*len(q.values)], b.Sums[:rows]
	scan(q, b, out[:rows])
}

func scanPortable(q Query, b Block, out []float32) {
	dims := len(q.values)
	for i, scale := range b.Scales {
		out[i] = float32(dotInt8(q.values, b.Values[i*dims:(i+1)*dims])) * scale * q.scale
	}
}

// dotInt8 unrolls eight ways: the multiplications of one row do not wait for one
// another, and the slices of fixed length need no bounds checks.
func dotInt8(a, b []int8) int32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 int32
	for len(a) >= 8 && len(b) >= 8 {
		x, y := (*[8]int8)(a), (*[8]int8)(b)
		s0 += int32(x[0])*int32(y[0]) + int32(x[4])*int32(y[4])
		s1 += int32(x[1])*int32(y[1]) + int32(x[5])*int32(y[5])
		s2 += int32(x[2])*int32(y[2]) + int32(x[6])*int32(y[6])
		s3 += int32(x[3])*int32(y[3]) + int32(x[7])*int32(y[7])
		a, b = a[8:], b[8:]
	}
	for i := range a {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}
