package vector

import (
	"math"
	"slices"
)

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

// Rows lie in tiles: the first four values of sixteen rows, then the next four, and so
// on. A question of few words has few values that are not zero, and the rest of a tile
// is not read.
const (
	tileRows = 16
	quadLen  = 4
	offset   = 128 // added to values, as kernels multiply bytes without a sign by bytes with one
)

// tileLen is how many bytes a tile of so long rows takes.
func tileLen(dims int) int { return (dims + quadLen - 1) / quadLen * tileRows * quadLen }

// Block is quantized vectors of one length. The zero value is empty.
type Block struct {
	Values []uint8   // of all rows, in whole tiles
	Scales []float32 // of each row, as [Quantize] gives them
}

// Grow makes room for so many rows more.
func (b *Block) Grow(rows, dims int) {
	tiles := (len(b.Scales) + rows + tileRows - 1) / tileRows
	b.Values = slices.Grow(b.Values, max(0, tiles*tileLen(dims)-len(b.Values)))
	b.Scales = slices.Grow(b.Scales, rows)
}

// Append quantizes v and adds it as the last row. All rows must be of one length. It
// returns the scale.
func (b *Block) Append(v []float32) (scale float32) {
	values := make([]int8, len(v))
	scale, _ = Quantize(v, values)
	b.add(values, scale)
	return scale
}

func (b *Block) add(values []int8, scale float32) {
	row := len(b.Scales)
	if row%tileRows == 0 {
		b.Values = append(b.Values, make([]uint8, tileLen(len(values)))...)
	}
	tile := b.Values[row/tileRows*tileLen(len(values)):]
	for i, x := range values {
		tile[(i/quadLen*tileRows+row%tileRows)*quadLen+i%quadLen] = uint8(int(x) + offset)
	}
	b.Scales = append(b.Scales, scale)
}

// Rows returns the rows from one to before another, of the length dims. The first is
// the first of a tile.
func (b Block) Rows(from, to, dims int) Block {
	return Block{b.Values[from/tileRows*tileLen(dims) : (to+tileRows-1)/tileRows*tileLen(dims)], b.Scales[from:to]}
}

// Query is a question's vector made ready to be scanned with.
type Query struct {
	dims   int
	quads  []quad // those with a value that is not zero
	scale  float32
	excess int32 // that the offset of a row's values adds to a product
}

// quad is four values of a query, in both widths that kernels want them in, and where
// in a tile the rows' are.
type quad struct {
	at    int32
	bytes [quadLen]int8
	words [quadLen]int16
}

// NewQuery returns the query of v, which may be up to 65536 long.
func NewQuery(v []float32) Query {
	values := make([]int8, len(v))
	scale, _ := Quantize(v, values)
	return newQuery(values, scale)
}

func newQuery(values []int8, scale float32) Query {
	q := Query{dims: len(values), scale: scale, quads: make([]quad, 0, (len(values)+quadLen-1)/quadLen)}
	for from := 0; from < len(values); from += quadLen {
		next := quad{at: int32(from * tileRows)}
		copy(next.bytes[:], values[from:])
		if next.bytes == [quadLen]int8{} {
			continue
		}
		for i, x := range next.bytes {
			next.words[i] = int16(x)
			q.excess += offset * int32(x)
		}
		q.quads = append(q.quads, next)
	}
	return q
}

// Scan writes the inner products of the query with the rows of a block, which are
// as long as the query. The scales say how many rows there are; out must hold as
// many. It panics if the block or out is shorter than that.
func Scan(q Query, b Block, out []float32) {
	rows, tile := len(b.Scales), tileLen(q.dims)
	whole, rest := rows/tileRows, rows%tileRows
	values, out := b.Values[:(rows+tileRows-1)/tileRows*tile], out[:rows]
	scan(q, values[:whole*tile], b.Scales[:whole*tileRows], out[:whole*tileRows])
	if rest > 0 {
		var scales, last [tileRows]float32
		copy(scales[:], b.Scales[whole*tileRows:])
		scan(q, values[whole*tile:], scales[:], last[:])
		copy(out[whole*tileRows:], last[:rest])
	}
}

// scanPortable is Scan of whole tiles.
func scanPortable(q Query, values []uint8, scales, out []float32) {
	tile := tileLen(q.dims)
	for first := 0; first < len(scales); first += tileRows {
		var sums [tileRows]int32
		for i := range q.quads {
			quad := &q.quads[i]
			x := (*[tileRows * quadLen]uint8)(values[quad.at:])
			a, b, c, d := int32(quad.words[0]), int32(quad.words[1]), int32(quad.words[2]), int32(quad.words[3])
			for row := range sums {
				sums[row] += a*int32(x[row*quadLen]) + b*int32(x[row*quadLen+1]) + c*int32(x[row*quadLen+2]) + d*int32(x[row*quadLen+3])
			}
		}
		for row, sum := range sums {
			out[first+row] = float32(sum-q.excess) * scales[first+row] * q.scale
		}
		values = values[tile:]
	}
}
