package index

import (
	"slices"

	"github.com/loci-memory/loci/internal/vector"
)

// chunkRows is how many vectors lie in one piece. A piece that is full is never
// copied again, so that growing leaves no garbage, and its scores fit the nearest
// cache.
const chunkRows = 512

// chunk is up to chunkRows vectors, each as int8 for the scan and as float16 for
// the exact cosine. What is in it never changes.
type chunk struct {
	quant vector.Block
	half  []uint16
}

// addVector keeps the vector of document n and returns its row. Vectors of another
// length than the first are of another model and left out.
func (s *contents) addVector(n int32, vec []float32) int32 {
	if s.dims == 0 {
		s.dims = len(vec)
	}
	if len(vec) == 0 || len(vec) != s.dims {
		return none
	}
	c := s.room()
	from := len(c.half)
	c.half = slices.Grow(c.half, s.dims)[:from+s.dims]
	vector.EncodeHalves(c.half[from:], vec)
	return s.quantizeLast(n)
}

// addHalf keeps a vector of float16.
func (s *contents) addHalf(n int32, half []uint16) int32 {
	c := s.room()
	c.half = append(c.half, half...)
	return s.quantizeLast(n)
}

// quantizeLast makes the int8 form of the last float16 one, and not of what that
// came from, so that it is the same after a checkpoint. It returns the row.
func (s *contents) quantizeLast(n int32) int32 {
	if len(s.floats) < s.dims {
		s.floats = make([]float32, s.dims)
	}
	s.maxScale = max(s.maxScale, s.chunks[len(s.chunks)-1].quantize(s.floats[:s.dims]))
	s.rowDoc = append(s.rowDoc, n)
	return int32(len(s.rowDoc) - 1)
}

// room returns the last chunk, a new one if that is full. The first chunk grows,
// for most owners have less than one; those after it have their full size at once.
func (s *contents) room() *chunk {
	if len(s.rowDoc) == len(s.chunks)*chunkRows {
		var c chunk
		if len(s.chunks) > 0 {
			c = newChunk(chunkRows, s.dims)
		}
		s.chunks = append(s.chunks, c)
	}
	return &s.chunks[len(s.chunks)-1]
}

func newChunk(rows, dims int) chunk {
	return chunk{
		quant: vector.Block{Values: make([]int8, 0, rows*dims), Scales: make([]float32, 0, rows), Sums: make([]int32, 0, rows)},
		half:  make([]uint16, 0, rows*dims),
	}
}

// quantize makes the int8 forms of rows that have none, and returns the largest
// scale of those. Values are room for one row.
func (c *chunk) quantize(values []float32) (most float32) {
	dims := len(values)
	for row := len(c.quant.Scales); row < len(c.half)/dims; row++ {
		for i, h := range c.half[row*dims : (row+1)*dims] {
			values[i] = vector.DecodeHalf(h)
		}
		c.quant.Values = slices.Grow(c.quant.Values, dims)[:(row+1)*dims]
		scale, sum := vector.Quantize(values, c.quant.Values[row*dims:])
		most = max(most, scale)
		c.quant.Scales, c.quant.Sums = append(c.quant.Scales, scale), append(c.quant.Sums, sum)
	}
	return most
}

// half returns the float16 form of a row, not to be written to.
func (s *contents) half(row int32) []uint16 {
	c, i := &s.chunks[row/chunkRows], int(row%chunkRows)*s.dims
	return c.half[i : i+s.dims : i+s.dims]
}
