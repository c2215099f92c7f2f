package vector

import (
	"math"
	"math/bits"
	"slices"
)

// maxZeroMagnitude is an upper bound: [Quantize] treats a vector with only smaller absolute values as zero,
// because the scale would be subnormal and the division imprecise.
const maxZeroMagnitude = 127 * 0x1p-126

// Quantize writes v into dst as int8. It returns the scale, with v[i] ≈ scale * dst[i], and the sum of dst.
// The value with the largest magnitude becomes ±127. All values must be finite. It panics if dst is shorter
// than v.
func Quantize(v []float32, dst []int8) (scale float32, sum int32) {
	dst = dst[:len(v)]
	most := largest(v)
	if most < maxZeroMagnitude {
		clear(dst)
		return 0, 0
	}
	scale = most / 127
	return scale, round(dst, v, scale)
}

// largestMagnitudePortable returns the largest absolute value, 0 for an empty slice. Without the sign bit,
// the bits of two floats are ordered like their values.
func largestMagnitudePortable(v []float32) float32 {
	var most uint32
	for _, x := range v {
		most = max(most, math.Float32bits(x)&^(1<<31))
	}
	return math.Float32frombits(most)
}

// roundPortable writes v divided by scale, rounded to the nearest integer (ties to even), into dst and returns
// the sum of dst. It rounds by adding a float so large that its last bit has the value 1; the low bits of the
// sum are the integer.
func roundPortable(dst []int8, v []float32, scale float32) (sum int32) {
	const ones = 3 << 22
	for i, x := range v {
		dst[i] = int8(math.Float32bits(x/scale + ones))
		sum += int32(dst[i])
	}
	return sum
}

// Rows are stored in tiles of sixteen. Four adjacent values of a row are a quad. The first quads of all rows
// are stored first, then the second quads of all rows, and so on. A scan skips the quads in which the query is
// zero, which are most if the query is the word-based vector of a short question.
const (
	tileRows       = 16
	quadValues     = 4
	tileQuadValues = tileRows * quadValues
	valueOffset    = 128 // added to values, because kernels multiply unsigned by signed bytes
)

// quads returns the number of quads (groups of four values) of a row.
func quads(dims int) int { return (dims + quadValues - 1) / quadValues }

// tiles returns the number of tiles that a number of rows needs.
func tiles(rows int) int { return (rows + tileRows - 1) / tileRows }

// Block holds quantized vectors of equal length. The zero value is empty.
type Block struct {
	Values []uint8   // values of all tiles, including unused capacity
	Scales []float32 // scale of each row, from [Quantize]
}

func (b *Block) capacityTiles(dims int) int {
	return len(b.Values) / max(1, quads(dims)*tileQuadValues)
}

// Grow makes room for a number of additional rows.
func (b *Block) Grow(rows, dims int) {
	b.Scales = slices.Grow(b.Scales, rows)
	b.growTo(tiles(len(b.Scales)+rows), dims)
}

func (b *Block) growTo(tileCount, dims int) {
	from := b.capacityTiles(dims)
	if tileCount <= from {
		return
	}
	values := make([]uint8, quads(dims)*tileCount*tileQuadValues)
	for i := range quads(dims) {
		copy(values[i*tileCount*tileQuadValues:], b.Values[i*from*tileQuadValues:][:from*tileQuadValues])
	}
	b.Values = values
}

// Append quantizes v, appends it as the last row and returns its scale. All rows must have the same length.
func (b *Block) Append(v []float32) (scale float32) {
	values := make([]int8, len(v))
	scale, _ = Quantize(v, values)
	b.appendRow(values, scale)
	return scale
}

func (b *Block) appendRow(values []int8, scale float32) {
	row := len(b.Scales)
	room := b.capacityTiles(len(values))
	if row == room*tileRows {
		b.growTo(room+1<<max(0, bits.Len(uint(room))-3), len(values)) // grow by about a quarter, at least by one tile
		room = b.capacityTiles(len(values))
	}
	for i := range quads(len(values)) {
		to := b.Values[(i*room*tileRows+row)*quadValues:][:quadValues]
		for j, x := range values[i*quadValues : min((i+1)*quadValues, len(values))] {
			to[j] = uint8(int(x) + valueOffset)
		}
	}
	b.Scales = append(b.Scales, scale)
}

// Query is the vector of a question, prepared for [Scan].
type Query struct {
	dims      int
	quads     []queryQuad // quads with a nonzero value
	scale     float32
	offsetSum int32 // part of each product that is due to valueOffset
}

// queryQuad is four adjacent values of a query, in the two widths that kernels need. index is the quad's number.
type queryQuad struct {
	index int32
	bytes [quadValues]int8
	words [quadValues]int16
}

// NewQuery returns the query for v, which must have at most 65536 values.
func NewQuery(v []float32) Query {
	values := make([]int8, len(v))
	scale, _ := Quantize(v, values)
	return quantizedQuery(values, scale)
}

func quantizedQuery(values []int8, scale float32) Query {
	q := Query{dims: len(values), scale: scale, quads: make([]queryQuad, 0, quads(len(values)))}
	for from := 0; from < len(values); from += quadValues {
		next := queryQuad{index: int32(from / quadValues)}
		copy(next.bytes[:], values[from:])
		if next.bytes == [quadValues]int8{} {
			continue
		}
		for i, x := range next.bytes {
			next.words[i] = int16(x)
			q.offsetSum += valueOffset * int32(x)
		}
		q.quads = append(q.quads, next)
	}
	return q
}

// Scan writes the inner products of the query with the rows of a block into out. Rows and query must have the
// same length. It panics if out, or the block's Values, has fewer rows than the block has Scales.
func Scan(q Query, b Block, out []float32) {
	rows, room := len(b.Scales), b.capacityTiles(q.dims)
	if q.dims > 0 && tiles(rows) > room {
		panic("vector: a block has more scales than rows")
	}
	stride, whole, out := room*tileQuadValues, rows/tileRows*tileRows, out[:rows]
	scan(q, b.Values, stride, b.Scales[:whole], out[:whole])
	if whole < rows {
		var scales, last [tileRows]float32
		copy(scales[:], b.Scales[whole:])
		scan(q, b.Values[min(whole*quadValues, len(b.Values)):], stride, scales[:], last[:])
		copy(out[whole:], last[:])
	}
}

// scanPortable is Scan for complete tiles. stride is the distance in bytes between the consecutive quads of a
// row. It reads one quad of many rows, then the next quad of these rows, in memory order.
func scanPortable(q Query, values []uint8, stride int, scales, out []float32) {
	var room [32 * tileRows]int32
	for first := 0; first < len(scales); first += len(room) {
		sums := room[:min(len(room), len(scales)-first)]
		clear(sums)
		for i := range q.quads {
			at := int(q.quads[i].index)*stride + first*quadValues
			for row := 0; row < len(sums); row += tileRows {
				q.quads[i].add((*[tileQuadValues]uint8)(values[at+row*quadValues:]), (*[tileRows]int32)(sums[row:]))
			}
		}
		for row, sum := range sums {
			out[first+row] = float32(sum-q.offsetSum) * scales[first+row] * q.scale
		}
	}
}

// add adds the products of q with x, the same quad of a tile's rows, to the sums of these rows.
func (q *queryQuad) add(x *[tileQuadValues]uint8, sums *[tileRows]int32) {
	a, b, c, d := int32(q.words[0]), int32(q.words[1]), int32(q.words[2]), int32(q.words[3])
	for row := range sums {
		sums[row] += a*int32(x[row*quadValues]) + b*int32(x[row*quadValues+1]) + c*int32(x[row*quadValues+2]) + d*int32(x[row*quadValues+3])
	}
}
