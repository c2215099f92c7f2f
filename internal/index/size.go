package index

import (
	"unsafe"

	"github.com/loci-memory/loci/memory"
)

// Estimated bytes of an entry in a large map with [idKey] keys or with short texts as keys, and of the
// spare capacity of a short slice that grows, all measured.
const (
	keyEntryBytes  = 40
	textEntryBytes = 80
	spareListBytes = 64
)

func (s *contents) size() int64 {
	const perDoc = int64(unsafe.Sizeof(doc{})+unsafe.Sizeof(kind(0))+unsafe.Sizeof(neighbours{})+unsafe.Sizeof(reach(0))+2*unsafe.Sizeof(int32(0))) + keyEntryBytes
	size := int64(cap(s.docs))*perDoc + int64(cap(s.mentionedDates))*int64(unsafe.Sizeof(memory.PartialDate{}))
	size += int64(len(s.textIDs)+len(s.expiryMicros))*textEntryBytes + int64(len(s.tagsByDoc))*(2*textEntryBytes)
	size += int64(len(s.postings))*(textEntryBytes+spareListBytes/2) + int64(s.postingCapacity)*4
	size += int64(len(s.chunks))*int64(unsafe.Sizeof(chunk{})) + int64(cap(s.docByRow))*4
	for i := range s.chunks {
		c := &s.chunks[i]
		size += int64(cap(c.int8Rows.Values)) + int64(cap(c.int8Rows.Scales)+cap(c.rowEnds))*4 + int64(cap(c.packedRows))*2
	}
	if len(s.termsByCharacter) > 0 {
		size += int64(len(s.termsByCharacter))*textEntryBytes + int64(len(s.postings))*(2*4+spareListBytes/16) // each term is in two lists
	}
	return size + int64(len(s.conversationTurns)+len(s.labels.list))*(textEntryBytes+spareListBytes)
}
