package index

import (
	"slices"

	"github.com/loci-memory/loci/internal/vector"
)

// chunkRows is the number of vectors in a chunk. A full chunk is never copied again, so growing leaves
// no garbage. The scores of a chunk fit the L1 cache. A scan reads four int8 values of every row together:
// 2 KiB, half a page of RAM.
const chunkRows = 512

// chunk is up to chunkRows vectors, each as int8 for the scan and as float16 for the exact cosine. The values
// never change, but the int8 forms move in memory when a chunk grows, so growing needs the shard's lock.
type chunk struct {
	int8Rows   vector.Block
	packedRows []uint16 // rows of [vector.Pack], stored consecutively
	rowEnds    []uint32 // end of each row in packedRows
}

// storeVector stores the vector of document n, which is vec or, unless empty, packed (float16), and
// returns its row.
func (s *contents) storeVector(n int32, vec []float32, packed []uint16) int32 {
	if s.offloaded {
		if len(vec)+len(packed) > 0 {
			return offloadedRow
		}
		return none
	}
	if row := s.addPackedVector(n, packed); row != none {
		return row
	}
	return s.addVector(n, vec)
}

// addVector stores the vector of document n and returns its row. It skips a vector whose length
// differs from the first, since it belongs to another model.
func (s *contents) addVector(n int32, vec []float32) int32 {
	if s.dims == 0 {
		s.dims = len(vec)
	}
	if len(vec) == 0 || len(vec) != s.dims {
		return none
	}
	if len(s.halfBuffer) < s.dims {
		s.halfBuffer = make([]uint16, s.dims)
	}
	vector.EncodeHalves(s.halfBuffer[:s.dims], vec)
	c := s.lastChunk()
	c.packedRows = vector.Pack(c.packedRows, s.halfBuffer[:s.dims])
	return s.finishRow(n)
}

// appendPacked stores a float16 vector of [vector.Pack] and returns its row.
func (s *contents) appendPacked(n int32, packed []uint16) int32 {
	c := s.lastChunk()
	c.packedRows = append(c.packedRows, packed...)
	return s.finishRow(n)
}

// finishRow computes the int8 form of the last row and returns the row's number. It uses the float16
// form, not the original vector, since a checkpoint contains only float16.
func (s *contents) finishRow(n int32) int32 {
	if len(s.floatBuffer) < s.dims {
		s.floatBuffer = make([]float32, s.dims)
	}
	c := &s.chunks[len(s.chunks)-1]
	c.rowEnds = append(c.rowEnds, uint32(len(c.packedRows)))
	s.maxScale = max(s.maxScale, c.quantize(s.floatBuffer[:s.dims]))
	if len(c.rowEnds) == chunkRows {
		c.packedRows = trimCapacity(c.packedRows)
	}
	s.docByRow = append(s.docByRow, n)
	return int32(len(s.docByRow) - 1)
}

// trimCapacity returns x without spare capacity, or unchanged if the spare capacity is below 1/16.
func trimCapacity(x []uint16) []uint16 {
	if cap(x)-len(x) < len(x)/16 {
		return x
	}
	return append(make([]uint16, 0, len(x)), x...)
}

// lastChunk returns the last chunk, or a new one if that is full. The first chunk grows, since most
// owners need less than one chunk. Later chunks are allocated at full size, float16 rows with the
// length of the previous chunk's rows.
func (s *contents) lastChunk() *chunk {
	if len(s.docByRow) == len(s.chunks)*chunkRows {
		var c chunk
		if n := len(s.chunks); n > 0 {
			words := len(s.chunks[n-1].packedRows)
			c.packedRows = make([]uint16, 0, min(words+words/32, chunkRows*s.dims))
			c.growToFull(s.dims)
		}
		s.chunks = append(s.chunks, c)
	}
	return &s.chunks[len(s.chunks)-1]
}

// growToFull extends all slices of a chunk, except the float16 forms, to the size of a full chunk.
func (c *chunk) growToFull(dims int) {
	c.int8Rows.Grow(chunkRows-len(c.int8Rows.Scales), dims)
	c.rowEnds = slices.Grow(c.rowEnds, chunkRows-len(c.rowEnds))
}

// quantize computes missing int8 forms and returns their largest scale. buffer is working memory for one
// vector.
func (c *chunk) quantize(buffer []float32) (maxScale float32) {
	for row := len(c.int8Rows.Scales); row < len(c.rowEnds); row++ {
		vector.Unpack(buffer, c.packedRow(row))
		maxScale = max(maxScale, c.int8Rows.Append(buffer))
	}
	return maxScale
}

// setRowEnds sets rowEnds, and reports whether packedRows has exactly rowCount rows of dims values. If so, it
// allocates the int8 forms of a full chunk, so that the last chunk can grow.
func (c *chunk) setRowEnds(rowCount, dims int) bool {
	at := 0
	c.rowEnds = make([]uint32, 0, chunkRows)
	for range rowCount {
		size, values, ok := vector.RowSize(c.packedRows[at:], dims)
		if !ok || values != dims {
			return false
		}
		at += size
		c.rowEnds = append(c.rowEnds, uint32(at))
	}
	if at != len(c.packedRows) {
		return false
	}
	c.growToFull(dims)
	return true
}

func (c *chunk) packedRow(row int) []uint16 {
	from := uint32(0)
	if row > 0 {
		from = c.rowEnds[row-1]
	}
	return c.packedRows[from:c.rowEnds[row]:c.rowEnds[row]]
}

// packedRow returns the float16 form of a row in the format of [vector.Pack]. Callers must not
// change it.
func (s *contents) packedRow(row int32) []uint16 {
	return s.chunks[row/chunkRows].packedRow(int(row % chunkRows))
}
