package vector

import (
	"encoding/binary"
	"math/bits"
)

// packed begins a row that was made shorter. As float16 it would be no number, so
// that no row of finite values begins with it.
const packed = 0xffff

// Pack appends a row of half-precision bits to dst in the shorter of two forms, bit
// for bit the same row either way. Its values must be finite.
//
//	raw     the row as it is
//	packed  0xffff, dims, a bit for each value that is not all zero bits (value i is
//	        bit i mod 16 of word i / 16), those values
//
// A row tells its form by its first word, so that rows that were never packed can
// stand among packed ones. Embeddings of counted words have few values that are not
// zero; those of models stay raw.
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
	dst = append(append(dst, packed, uint16(len(row))), make([]uint16, words)...)
	for i, h := range row {
		if h != 0 {
			dst[at+i/16] |= 1 << (i % 16)
			dst = append(dst, h)
		}
	}
	return dst
}

// Packed returns how many words the row that rows begin with takes, and how many
// values it has. A raw row is taken to have dims values. ok is false if it is cut
// off or no row of [Pack]; the other functions are for rows for which it is true.
func Packed(rows []uint16, dims int) (size, values int, ok bool) {
	if !isPacked(rows) {
		return dims, dims, dims <= len(rows)
	}
	values = int(rows[1])
	size = 2 + (values+15)/16
	if len(rows) < size {
		return 0, 0, false
	}
	bitmap := rows[2:size]
	if rest := values % 16; rest > 0 && bitmap[len(bitmap)-1]>>rest != 0 {
		return 0, 0, false
	}
	for _, word := range bitmap {
		size += bits.OnesCount16(word)
	}
	return size, values, size <= len(rows)
}

// Dims returns how many values a row of [Pack] has.
func Dims(row []uint16) int {
	if !isPacked(row) {
		return len(row)
	}
	return int(row[1])
}

// Unpack writes the values of a row of [Pack] into dst. It panics if dst is shorter
// than the row's [Dims].
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

// DotPacked is [DotHalf] of a with a row of [Pack], to the last bit: sums begin with
// 0, which adding a zero of either sign leaves as it is. a must be finite and as
// long as the row, or it panics.
func DotPacked(a []float32, row []uint16) float32 {
	if !isPacked(row) {
		return DotHalf(a, row)
	}
	a = a[:row[1]]
	words := (len(a) + 15) / 16
	return dotPacked(a, row[2:2+words], row[2+words:])
}

// ahead is how many rows [DotEach] asks for before their turn: enough that they are
// there by then, few enough that they still are.
const ahead = 16

// DotEach writes the [DotPacked] of a with each row into out, which must be as long as
// rows. Where rows lie scattered in more memory than a cache holds it does not wait for
// each in turn.
func DotEach(a []float32, rows [][]uint16, out []float32) {
	out = out[:len(rows)]
	for _, row := range rows[:min(ahead, len(rows))] {
		fetch(row)
	}
	for i, row := range rows {
		if i+ahead < len(rows) {
			fetch(rows[i+ahead])
		}
		out[i] = DotPacked(a, row)
	}
}

// dotPackedPortable is DotPacked of a row's bits and values.
func dotPackedPortable(a []float32, bitmap, values []uint16) float32 {
	var sums piece
	for i, word := range bitmap {
		x, lane := a[i*16:], i%2*16
		for ; word != 0; word &= word - 1 {
			j := bits.TrailingZeros16(word)
			sums[(lane+j)%lanes] += float32(x[j] * finite(values[0]))
			values = values[1:]
		}
	}
	return sums.total()
}

func isPacked(row []uint16) bool { return len(row) > 1 && row[0] == packed }

// Bytes returns a vector as databases keep it: float16 in the form of [Pack], little endian.
func Bytes(values []float32) []byte {
	row := make([]uint16, len(values))
	EncodeHalves(row, values)
	packed := Pack(make([]uint16, 0, len(row)), row)
	data := make([]byte, 0, 2*len(packed))
	for _, word := range packed {
		data = binary.LittleEndian.AppendUint16(data, word)
	}
	return data
}

// Words returns the row that [Bytes] wrote, or one that was never packed; nil for nothing and for
// what is neither.
func Words(data []byte) []uint16 {
	row := make([]uint16, len(data)/2)
	for i := range row {
		row[i] = binary.LittleEndian.Uint16(data[2*i:])
	}
	if size, _, ok := Packed(row, len(row)); !ok || size != len(row) || size == 0 {
		return nil
	}
	return row
}

// FromBytes returns the values of what [Words] reads.
func FromBytes(data []byte) []float32 {
	row := Words(data)
	if row == nil {
		return nil
	}
	values := make([]float32, Dims(row))
	Unpack(values, row)
	return values
}
