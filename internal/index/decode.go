package index

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"unsafe"

	"github.com/loci-memory/loci/memory"
)

// unusableError is the reason why a checkpoint cannot be used and must be removed.
type unusableError struct{ reason string }

func (u *unusableError) Error() string { return u.reason }

func unusablef(format string, args ...any) error { return &unusableError{fmt.Sprintf(format, args...)} }

// decodeCheckpoint reads a checkpoint of size bytes. For an incomplete, invalid or foreign checkpoint it
// returns an [unusableError]; other errors come from the reader.
func decode(ctx context.Context, r io.Reader, size int64, want header) (*contents, error) {
	d := newDecoder(ctx, r, size)
	h := d.header()
	var f frame
	if version := h.Version; d.err == nil {
		if h.Version = 0; h != want.complete() {
			return nil, unusablef("it belongs to another owner, model, language, machine or release")
		}
		h.Version = version
	}
	d.json(&f)
	c := newContents()
	c.version, c.offloaded = h.Version, h.Offloaded
	c.docs = numbers[doc](d)
	c.kinds = numbers[kind](d)
	c.olen = numbers[int32](d)
	lengths := numbers[int32](d)
	postings := numbers[uint32](d)
	c.moments = numbers[memory.Moment](d)
	c.chunks = d.vectors(f.Rows, f.Dims)
	if d.err != nil {
		return nil, d.err
	}
	sum := make([]byte, 4)
	if _, err := io.ReadFull(d.r, sum); err != nil || d.left != 0 || string(sum) != string(bytesOf([]uint32{d.sum.Sum32()})) {
		return nil, unusablef("it is torn or damaged")
	}
	if err := c.rebuild(&f, want.Owner, lengths, postings); err != nil {
		return nil, err
	}
	return &c, nil
}

func newDecoder(ctx context.Context, r io.Reader, size int64) *decoder {
	return &decoder{ctx: ctx, r: bufio.NewReaderSize(r, 1<<16), left: size - 4, sum: crc32.New(castagnoli)}
}

func (d *decoder) header() (h header) {
	start := make([]byte, len(magic))
	d.read(start)
	if d.err == nil && string(start) != magic {
		d.err = unusablef("it is not a checkpoint")
		return header{}
	}
	d.json(&h)
	return h
}

type decoder struct {
	ctx  context.Context
	r    *bufio.Reader
	sum  hash.Hash32
	at   int
	left int64 // unread bytes before the checksum
	err  error
}

// read fills b in pieces, so that each piece is still in the CPU cache when its checksum is
// computed.
func (d *decoder) read(b []byte) {
	if d.err == nil && int64(len(b)) > d.left {
		d.err = unusablef("it is torn")
	}
	d.left, d.at = d.left-int64(len(b)), d.at+len(b)
	for len(b) > 0 && d.err == nil {
		piece := b[:min(len(b), 1<<16)]
		if d.err = d.ctx.Err(); d.err == nil {
			_, d.err = io.ReadFull(d.r, piece)
		}
		d.sum.Write(piece)
		b = b[len(piece):]
	}
}

// readLength reads the length of the next list in bytes, checks it and returns the number of its items
// of size bytes.
func (d *decoder) length(size int) int {
	var n [1]int64
	d.read(bytesOf(n[:]))
	if d.err == nil && (n[0] < 0 || n[0] > d.left || n[0]%int64(size) != 0) {
		d.err = unusablef("it has a list of %d bytes", n[0])
	}
	if d.err != nil {
		return 0
	}
	return int(n[0]) / size
}

func (d *decoder) pad() { d.read(make([]byte, -d.at&7)) }

func (d *decoder) json(x any) {
	data := make([]byte, d.length(1))
	d.read(data)
	d.pad()
	if d.err == nil && json.Unmarshal(data, x) != nil {
		d.err = unusablef("its JSON header is invalid")
	}
}

func numbers[T any](d *decoder) []T {
	x := make([]T, d.length(int(unsafe.Sizeof(*new(T)))))
	d.read(bytesOf(x))
	d.pad()
	return x
}

// readChunks reads the float16 vectors in pieces, and concurrently computes the int8 vectors.
func (d *decoder) vectors(rows, dims int) []chunk {
	words := numbers[int32](d)
	left := d.length(2)
	// A row takes at least one bit per value.
	if d.err == nil && (rows < 0 || dims < 0 || rows > left || dims/16 > left || len(words) != (rows+chunkRows-1)/chunkRows || rows > 0 && dims == 0) {
		d.err = unusablef("it has %d vectors of %d dimensions in %d chunks, but %d words", rows, dims, len(words), left)
	}
	if d.err != nil {
		return nil
	}
	chunks := make([]chunk, len(words))
	read := make(chan *chunk, len(chunks))
	done := make(chan struct{})
	whole := true
	go func() {
		defer close(done)
		values := make([]float32, dims)
		for c := range read {
			if whole = whole && c.split(min(chunkRows, rows), dims); whole {
				c.quantize(values) // the size depends on the data read, not on dims
			}
			rows -= chunkRows
		}
	}()
	for i := range chunks {
		n := int(words[i])
		if left -= n; n < 0 || left < 0 {
			d.err = unusablef("it has a chunk of %d words of vectors", n)
			break
		}
		chunks[i].halves = make([]uint16, n)
		d.read(bytesOf(chunks[i].halves))
		read <- &chunks[i]
	}
	close(read)
	<-done
	if d.err == nil && (!whole || left > 0) {
		d.err = unusablef("its vectors do not have the stated length")
	}
	d.pad()
	return chunks
}
