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

// decodeCheckpoint reads a checkpoint of fileSize bytes. For an incomplete or invalid checkpoint, or one
// whose header is not as expected, it returns an [unusableError]; other errors come from the reader.
func decodeCheckpoint(ctx context.Context, r io.Reader, fileSize int64, expected checkpointHeader) (*contents, error) {
	d := newDecoder(ctx, r, fileSize)
	h := d.readHeader()
	var f frame
	if version := h.Version; d.err == nil {
		if h.Version = 0; h != expected.withMachineFields() {
			return nil, unusablef("the file belongs to another owner, model, language, machine or release")
		}
		h.Version = version
	}
	d.readJSON(&f)
	c := newContents()
	c.version, c.offloaded = h.Version, h.Offloaded
	c.docs = readSlice[doc](d)
	c.kinds = readSlice[kind](d)
	c.ownLengths = readSlice[int32](d)
	lengths := readSlice[int32](d)
	postings := readSlice[uint32](d)
	c.mentionedDates = readSlice[memory.PartialDate](d)
	c.chunks = d.readChunks(f.Rows, f.Dims)
	if d.err != nil {
		return nil, d.err
	}
	sum := make([]byte, 4)
	if _, err := io.ReadFull(d.r, sum); err != nil || d.remaining != 0 || string(sum) != string(bytesOf([]uint32{d.checksum.Sum32()})) {
		return nil, unusablef("the file is truncated or damaged")
	}
	if err := c.rebuild(&f, expected.Owner, lengths, postings); err != nil {
		return nil, err
	}
	return &c, nil
}

func newDecoder(ctx context.Context, r io.Reader, fileSize int64) *decoder {
	return &decoder{ctx: ctx, r: bufio.NewReaderSize(r, 1<<16), remaining: fileSize - 4, checksum: crc32.New(castagnoli)}
}

func (d *decoder) readHeader() (h checkpointHeader) {
	start := make([]byte, len(checkpointMagic))
	d.read(start)
	if d.err == nil && string(start) != checkpointMagic {
		d.err = unusablef("the file is not a checkpoint")
		return checkpointHeader{}
	}
	d.readJSON(&h)
	return h
}

type decoder struct {
	ctx       context.Context
	r         *bufio.Reader
	checksum  hash.Hash32
	offset    int
	remaining int64 // unread bytes before the checksum
	err       error
}

// read fills b in pieces, so that each piece is still in the CPU cache when its checksum is
// computed.
func (d *decoder) read(b []byte) {
	if d.err == nil && int64(len(b)) > d.remaining {
		d.err = unusablef("the file is truncated")
	}
	d.remaining, d.offset = d.remaining-int64(len(b)), d.offset+len(b)
	for len(b) > 0 && d.err == nil {
		piece := b[:min(len(b), 1<<16)]
		if d.err = d.ctx.Err(); d.err == nil {
			_, d.err = io.ReadFull(d.r, piece)
		}
		d.checksum.Write(piece)
		b = b[len(piece):]
	}
}

// readLength reads the length of the next list in bytes, checks that the list fits the file, and returns
// its number of items of itemSize bytes.
func (d *decoder) readLength(itemSize int) int {
	var n [1]int64
	d.read(bytesOf(n[:]))
	if d.err == nil && (n[0] < 0 || n[0] > d.remaining || n[0]%int64(itemSize) != 0) {
		d.err = unusablef("a list has an invalid length of %d bytes", n[0])
	}
	if d.err != nil {
		return 0
	}
	return int(n[0]) / itemSize
}

func (d *decoder) skipPadding() { d.read(make([]byte, -d.offset&7)) }

func (d *decoder) readJSON(x any) {
	data := make([]byte, d.readLength(1))
	d.read(data)
	d.skipPadding()
	if d.err == nil && json.Unmarshal(data, x) != nil {
		d.err = unusablef("the JSON header is invalid")
	}
}

func readSlice[T any](d *decoder) []T {
	x := make([]T, d.readLength(int(unsafe.Sizeof(*new(T)))))
	d.read(bytesOf(x))
	d.skipPadding()
	return x
}

// readChunks reads the float16 vectors of one chunk after the other. Another goroutine computes the
// int8 vectors of the chunks already read.
func (d *decoder) readChunks(rows, dims int) []chunk {
	words := readSlice[int32](d)
	remaining := d.readLength(2)
	// A row takes at least one bit per value.
	if d.err == nil && (rows < 0 || dims < 0 || rows > remaining || dims/16 > remaining || len(words) != (rows+chunkRows-1)/chunkRows || rows > 0 && dims == 0) {
		d.err = unusablef("the sizes do not match: %d vectors of %d dimensions in %d chunks with %d words", rows, dims, len(words), remaining)
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
			if whole = whole && c.setRowEnds(min(chunkRows, rows), dims); whole {
				c.quantize(values) // setRowEnds has checked that each row has dims values
			}
			rows -= chunkRows
		}
	}()
	for i := range chunks {
		n := int(words[i])
		if remaining -= n; n < 0 || remaining < 0 {
			d.err = unusablef("a chunk of vectors has an invalid length of %d words", n)
			break
		}
		chunks[i].packedRows = make([]uint16, n)
		d.read(bytesOf(chunks[i].packedRows))
		read <- &chunks[i]
	}
	close(read)
	<-done
	if d.err == nil && (!whole || remaining > 0) {
		d.err = unusablef("the vectors do not have the stated length")
	}
	d.skipPadding()
	return chunks
}
