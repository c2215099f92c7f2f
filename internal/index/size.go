package index

import (
	"unsafe"

	"github.com/loci-memory/loci/memory"
)

// Estimates of Go's overhead in bytes, measured on large maps and small slices: a map entry from a
// key or a short text to a number, and the spare capacity of growing slices.
const (
	keyEntry  = 40
	textEntry = 80
	listEntry = 64
)

func (s *contents) size() int64 {
	const perDoc = int64(unsafe.Sizeof(doc{})+unsafe.Sizeof(kind(0))+unsafe.Sizeof(neighbours{})+unsafe.Sizeof(reach(0))+2*unsafe.Sizeof(int32(0))) + keyEntry
	size := int64(cap(s.docs))*perDoc + int64(cap(s.moments))*int64(unsafe.Sizeof(memory.Moment{}))
	size += int64(len(s.odd)+len(s.expires))*textEntry + int64(len(s.tags))*(2*textEntry)
	size += int64(len(s.posts))*(textEntry+listEntry/2) + int64(s.postingCapacity)*4
	size += int64(len(s.chunks))*int64(unsafe.Sizeof(chunk{})) + int64(cap(s.rowDoc))*4
	for i := range s.chunks {
		c := &s.chunks[i]
		size += int64(cap(c.quant.Values)) + int64(cap(c.quant.Scales)+cap(c.ends))*4 + int64(cap(c.halves))*2
	}
	if len(s.pairs) > 0 {
		size += int64(len(s.pairs))*textEntry + int64(len(s.posts))*(2*4+listEntry/16) // each term is in two lists
	}
	return size + int64(len(s.threads)+len(s.names.list))*(textEntry+listEntry)
}
