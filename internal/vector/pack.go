package vector

import (
	"encoding/binary"
	"math/bits"
)

// packedMarker is the first value of a compressed row. As float16 it is NaN, so no row of finite values
// begins with it.
const packedMarker = 0xffff

// Pack appends a row of finite half-precision values to dst in the shorter of two lossless forms:
//
//	raw     the row unchanged
//	packed  0xffff, dims, a bit for each value that is not all zero bits (value i is
//	        bit i mod 16 of word i / 16), those values
//
// The first word shows the form, so packed and raw rows can be mixed. Word-based embeddings have few nonzero
// values and are packed; those of models stay raw.
func Pack(dst, row []uint16) []uint16 {
	words := (len(row) + 15) / 16
	size := 2 + words
	for _, h := range row {
		if h != 0 {
			size++
		}
	}
	if size >= len(row) || len(row) > 1<<16-1 {
		return append(dst, row...)
	}
	at := len(dst) + 2
	dst = append(append(dst, packedMarker, uint16(len(row))), make([]uint16, words)...)
	for i, h := range row {
		if h != 0 {
			dst[at+i/16] |= 1 << (i % 16)
			dst = append(dst, h)
		}
	}
	return dst
}

// RowSize returns the length in words (uint16) of the first row in rows, and the row's number of values. A raw
// row has dims values. ok is false if the row is truncated or not a result of [Pack]; the functions below
// require a valid row.
func RowSize(rows []uint16, dims int) (size, count int, ok bool) {
	if !isPacked(rows) {
		return dims, dims, dims <= len(rows)
	}
	count = int(rows[1])
	size = 2 + (count+15)/16
	if len(rows) < size {
		return 0, 0, false
	}
	bitmap := rows[2:size]
	if rest := count % 16; rest > 0 && bitmap[len(bitmap)-1]>>rest != 0 {
		return 0, 0, false
	}
	for _, word := range bitmap {
		size += bits.OnesCount16(word)
	}
	return size, count, size <= len(rows)
}

// Dims returns the number of values of a row from [Pack].
func Dims(row []uint16) int {
	if !isPacked(row) {
		return len(row)
	}
	return int(row[1])
}

// Unpack writes the values of a row from [Pack] into dst. It panics if dst is shorter than the row's
// [Dims].
func Unpack(dst []float32, row []uint16) {
	if !isPacked(row) {
		dst = dst[:len(row)]
		for i, h := range row {
			dst[i] = DecodeHalf(h)
		}
		return
	}
	dst = dst[:row[1]]
	clear(dst)
	words := (len(dst) + 15) / 16
	values := row[2+words:]
	for i, word := range row[2 : 2+words] {
		for ; word != 0; word &= word - 1 {
			dst[i*16+bits.TrailingZeros16(word)] = DecodeHalf(values[0])
			values = values[1:]
		}
	}
}

// DotPacked returns the inner product of a with a row from [Pack], with the same bits as [DotHalf] of the
// unpacked row: adding a product with zero would not change a sum. a must be finite, and must have as many
// values as the row.
func DotPacked(a []float32, row []uint16) float32 {
	if !isPacked(row) {
		return DotHalf(a, row)
	}
	a = a[:row[1]]
	words := (len(a) + 15) / 16
	return dotPacked(a, row[2:2+words], row[2+words:])
}

// prefetchRows is how many rows ahead [DotEach] prefetches: enough for the rows to arrive in time, and few
// enough to stay in the cache.
const prefetchRows = 16

// DotEach writes the [DotPacked] of a with each row into out, which must be as long as rows. Prefetching hides
// the latency of rows that are scattered in memory.
func DotEach(a []float32, rows [][]uint16, out []float32) {
	out = out[:len(rows)]
	for _, row := range rows[:min(prefetchRows, len(rows))] {
		fetch(row)
	}
	for i, row := range rows {
		if i+prefetchRows < len(rows) {
			fetch(rows[i+prefetchRows])
		}
		out[i] = DotPacked(a, row)
	}
}

// dotPackedPortable is DotPacked for a packed row, given as its bitmap and its nonzero values.
func dotPackedPortable(a []float32, bitmap, values []uint16) float32 {
	var sums laneBlock
	for i, word := range bitmap {
		x, lane := a[i*16:], i%2*16
		for ; word != 0; word &= word - 1 {
			j := bits.TrailingZeros16(word)
			sums[(lane+j)%lanes] += float32(x[j] * decodeFinite(values[0]))
			values = values[1:]
		}
	}
	return sums.total()
}

func isPacked(row []uint16) bool { return len(row) > 1 && row[0] == packedMarker }

// EncodeBytes encodes a vector for databases: float16 values in the form of [Pack], little endian.
func EncodeBytes(values []float32) []byte {
	row := make([]uint16, len(values))
	EncodeHalves(row, values)
	packed := Pack(make([]uint16, 0, len(row)), row)
	data := make([]byte, 0, 2*len(packed))
	for _, word := range packed {
		data = binary.LittleEndian.AppendUint16(data, word)
	}
	return data
}

// RowFromBytes returns the row in data from [EncodeBytes], packed or raw. It returns nil for empty and invalid
// data.
func RowFromBytes(data []byte) []uint16 {
	row := make([]uint16, len(data)/2)
	for i := range row {
		row[i] = binary.LittleEndian.Uint16(data[2*i:])
	}
	if size, _, ok := RowSize(row, len(row)); !ok || size != len(row) || size == 0 {
		return nil
	}
	return row
}

// ValuesFromBytes returns the vector in data from [EncodeBytes], nil for empty and invalid data.
func ValuesFromBytes(data []byte) []float32 {
	row := RowFromBytes(data)
	if row == nil {
		return nil
	}
	values := make([]float32, Dims(row))
	Unpack(values, row)
	return values
}
