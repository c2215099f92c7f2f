package index

import (
	"bufio"
	"context"
	"encoding/json"
	"hash"
	"hash/crc32"
	"io"
	"sync"
	"unsafe"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// A checkpoint file contains
//
//	magic      8 bytes
//	header     JSON
//	frame      JSON: the small fields, and the sizes of the sections that follow
//	docs, kinds, ownLengths, lengths of the posting lists, the lists, mentionedDates,
//	           lengths of the vectors of each chunk, the vectors as float16 of
//	           [vector.Pack]; all in their in-memory format
//	checksum   CRC-32C of everything before it, 4 bytes
//
// Each JSON text and list begins at a multiple of 8, after its length in bytes (an int64). Numbers
// have the machine's byte order, which the header records, so only machines of the same kind can
// read a checkpoint. Neighbours, lengths and int8 vectors are omitted, since they can be derived.
const checkpointMagic = "loci.idx"

// checkpointFormat is incremented whenever the layout or the meaning of the files changes.
const checkpointFormat = 7

// checkpointHeader identifies a checkpoint. The reader requires its own values in all fields except Version.
type checkpointHeader struct {
	Format    int
	Order     uint32 // byteOrder on the writer's machine
	Doc       int    // size of a doc in bytes
	Owner     memory.Owner
	Model     string
	Language  string
	Offloaded bool  // true if the vectors are searched outside the index and not stored
	Version   int64 `json:",omitempty"`
}

// byteOrder is a number whose value depends on the machine's byte order.
var byteOrder = func() uint32 { b := [4]byte{1, 2, 3, 4}; return *(*uint32)(unsafe.Pointer(&b)) }()

func (h checkpointHeader) withMachineFields() checkpointHeader {
	h.Format, h.Order, h.Doc = checkpointFormat, byteOrder, int(unsafe.Sizeof(doc{}))
	return h
}

// languageFingerprint identifies the rules that derive terms, flags and dates from texts. A checkpoint
// written under other rules is not used.
var languageFingerprint = sync.OnceValue(text.Fingerprint)

// frame is the JSON part of a checkpoint with the fields of [contents] that are not large slices.
type frame struct {
	Dims    int
	Rows    int
	Odd     map[int32]string `json:",omitempty"`
	Terms   []string
	Convs   []string
	Names   []string
	Scopes  []memory.Scope
	Tags    map[int32][]string `json:",omitempty"`
	Expires map[int32]int64    `json:",omitempty"`
	Newest  int64
	IDs     []idKey
}

func encodeCheckpoint(ctx context.Context, w io.Writer, h checkpointHeader, f *frozenContents) error {
	e := &encoder{ctx: ctx, w: bufio.NewWriterSize(w, 1<<16), checksum: crc32.New(castagnoli)}
	rows := 0
	for _, c := range f.chunks {
		rows += len(c.rowEnds)
	}
	e.write([]byte(checkpointMagic))
	e.writeJSON(h.withMachineFields())
	e.writeJSON(frame{
		Dims: f.dims, Rows: rows, Odd: f.textIDs, Terms: f.terms, Convs: f.conversations, Names: f.labels, Scopes: f.scopes,
		Tags: f.tagsByDoc, Expires: f.expiryMicros, Newest: f.newest.version, IDs: f.newest.ids,
	})
	writeSlice(e, f.docs)
	writeSlice(e, f.kinds)
	writeSlice(e, f.ownLengths)
	lengths, total := make([]int32, len(f.postings)), 0
	for i, posts := range f.postings {
		lengths[i] = int32(len(posts))
		total += len(posts)
	}
	writeSlice(e, lengths)
	e.writeLength(total * int(unsafe.Sizeof(uint32(0))))
	for _, posts := range f.postings {
		e.write(bytesOf(posts))
	}
	e.writePadding()
	writeSlice(e, f.mentionedDates)
	words := make([]int32, len(f.chunks))
	total = 0
	for i, c := range f.chunks {
		words[i] = int32(len(c.packedRows))
		total += len(c.packedRows)
	}
	writeSlice(e, words)
	e.writeLength(total * int(unsafe.Sizeof(uint16(0))))
	for _, c := range f.chunks {
		e.write(bytesOf(c.packedRows))
	}
	e.writePadding()
	if e.err != nil {
		return e.err
	}
	if _, err := e.w.Write(bytesOf([]uint32{e.checksum.Sum32()})); err != nil {
		return err
	}
	return e.w.Flush()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type encoder struct {
	ctx      context.Context
	w        *bufio.Writer
	checksum hash.Hash32
	offset   int // bytes written
	err      error
}

func (e *encoder) write(b []byte) {
	if e.err != nil {
		return
	}
	if e.err = e.ctx.Err(); e.err != nil {
		return
	}
	e.checksum.Write(b)
	e.offset += len(b)
	_, e.err = e.w.Write(b)
}

func (e *encoder) writeLength(n int) { e.write(bytesOf([]int64{int64(n)})) }

func (e *encoder) writePadding() { e.write(make([]byte, -e.offset&7)) }

func (e *encoder) writeJSON(x any) {
	data, err := json.Marshal(x)
	if err != nil && e.err == nil {
		e.err = err
	}
	e.writeLength(len(data))
	e.write(data)
	e.writePadding()
}

// writeSlice writes a slice of numbers, or of structs that contain only numbers.
func writeSlice[T any](e *encoder, x []T) {
	e.writeLength(len(x) * int(unsafe.Sizeof(*new(T))))
	e.write(bytesOf(x))
	e.writePadding()
}

// bytesOf returns the memory of a slice of numbers, or of structs that contain only numbers.
func bytesOf[T any](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(x[0])))
}
