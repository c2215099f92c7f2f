package vector

import (
	"math"
	"math/bits"
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

// Rows lie in tiles of sixteen. The first four values of the rows of all tiles come
// first, then the next four of all, and so on. A question of few words has few values that
// are not zero: the rest is not read, and what is lies in pieces that are the longer, the
// larger a block is.
const (
	tileRows = 16
	quadLen  = 4
	tileQuad = tileRows * quadLen
	offset   = 128 // added to values, as kernels multiply bytes without a sign by bytes with one
)

// quads is how many quads rows of such a length have.
func quads(dims int) int { return (dims + quadLen - 1) / quadLen }

// tiles is how many tiles so many rows take.
func tiles(rows int) int { return (rows + tileRows - 1) / tileRows }

// Block is quantized vectors of one length. The zero value is empty.
type Block struct {
	Values []uint8   // of as many tiles as there is room for
	Scales []float32 // of each row, as [Quantize] gives them
}

// room is for how many tiles there is room.
func (b *Block) room(dims int) int { return len(b.Values) / max(1, quads(dims)*tileQuad) }

// Grow makes room for so many rows more.
func (b *Block) Grow(rows, dims int) {
	b.Scales = slices.Grow(b.Scales, rows)
	b.widen(tiles(len(b.Scales)+rows), dims)
}

// widen makes room for so many tiles, if there is less. Every piece moves apart.
func (b *Block) widen(to, dims int) {
	from := b.room(dims)
	if to <= from {
		return
	}
	values := make([]uint8, quads(dims)*to*tileQuad)
	for i := range quads(dims) {
		copy(values[i*to*tileQuad:], b.Values[i*from*tileQuad:][:from*tileQuad])
	}
	b.Values = values
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
	room := b.room(len(values))
	if row == room*tileRows {
		b.widen(room+1<<max(0, bits.Len(uint(room))-3), len(values)) // by a quarter, once there are four
		room = b.room(len(values))
	}
	for i := range quads(len(values)) {
		to := b.Values[(i*room*tileRows+row)*quadLen:][:quadLen]
		for j, x := range values[i*quadLen : min((i+1)*quadLen, len(values))] {
			to[j] = uint8(int(x) + offset)
		}
	}
	b.Scales = append(b.Scales, scale)
}

// Query is a question's vector made ready to be scanned with.
type Query struct {
	dims   int
	quads  []quad // those with a value that is not zero
	scale  float32
	excess int32 // that the offset of a row's values adds to a product
}

// quad is four values of a query, in both widths that kernels want them in, and which
// four these are.
type quad struct {
	number int32
	bytes  [quadLen]int8
	words  [quadLen]int16
}

// NewQuery returns the query of v, which may be up to 65536 long.
func NewQuery(v []float32) Query {
	values := make([]int8, len(v))
	scale, _ := Quantize(v, values)
	return newQuery(values, scale)
}

func newQuery(values []int8, scale float32) Query {
	q := Query{dims: len(values), scale: scale, quads: make([]quad, 0, quads(len(values)))}
	for from := 0; from < len(values); from += quadLen {
		next := quad{number: int32(from / quadLen)}
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
	rows, room := len(b.Scales), b.room(q.dims)
	if q.dims > 0 && tiles(rows) > room {
		panic("vector: a block has more scales than rows")
	}
	stride, whole, out := room*tileQuad, rows/tileRows*tileRows, out[:rows]
	scan(q, b.Values, stride, b.Scales[:whole], out[:whole])
	if whole < rows {
		var scales, last [tileRows]float32
		copy(scales[:], b.Scales[whole:])
		scan(q, b.Values[min(whole*quadLen, len(b.Values)):], stride, scales[:], last[:])
		copy(out[whole:], last[:])
	}
}

// scanPortable is Scan of whole tiles, where so many bytes lie between a quad of a tile and
// the next. It goes over a quad of many tiles, then over the next, as they lie in memory.
func scanPortable(q Query, values []uint8, stride int, scales, out []float32) {
	var room [32 * tileRows]int32
	for first := 0; first < len(scales); first += len(room) {
		sums := room[:min(len(room), len(scales)-first)]
		clear(sums)
		for i := range q.quads {
			at := int(q.quads[i].number)*stride + first*quadLen
			for row := 0; row < len(sums); row += tileRows {
				q.quads[i].add((*[tileQuad]uint8)(values[at+row*quadLen:]), (*[tileRows]int32)(sums[row:]))
			}
		}
		for row, sum := range sums {
			out[first+row] = float32(sum-q.excess) * scales[first+row] * q.scale
		}
	}
}

// add adds to the sums of a tile.
func (q *quad) add(x *[tileQuad]uint8, sums *[tileRows]int32) {
	a, b, c, d := int32(q.words[0]), int32(q.words[1]), int32(q.words[2]), int32(q.words[3])
	for row := range sums {
		sums[row] += a*int32(x[row*quadLen]) + b*int32(x[row*quadLen+1]) + c*int32(x[row*quadLen+2]) + d*int32(x[row*quadLen+3])
	}
}
