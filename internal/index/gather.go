package index

import (
	"slices"
	"sync"
)

// postingBuffer collects the postings of many new documents, in document order, before they are
// added to the lists of their terms. Each list then allocates memory once.
type postingBuffer struct {
	entries      []posting
	newestByTerm []int32 // by term: index in entries of the term's newest posting; none if it has no posting
}

type posting struct {
	term   int32
	packed uint32 // document << 8 | thirds, as in contents.postings
}

// maxBuffered is the capacity in postings above which a buffer is not reused, to save memory.
const maxBuffered = 1 << 17

var postingBufferPool = sync.Pool{New: func() any { return &postingBuffer{} }}

func (g *postingBuffer) addPosting(n, term int32, weight int32) {
	for int(term) >= len(g.newestByTerm) {
		g.newestByTerm = append(g.newestByTerm, none)
	}
	if at := g.newestByTerm[term]; at != none && int32(g.entries[at].packed>>8) == n {
		g.entries[at].packed = raisedPosting(g.entries[at].packed, weight)
		return
	}
	g.newestByTerm[term] = int32(len(g.entries))
	g.entries = append(g.entries, posting{term, uint32(n)<<8 | uint32(weight)})
}

// bufferPostings makes addPosting write to a buffer until flushPostings is called.
func (s *contents) bufferPostings() { s.pendingPostings = postingBufferPool.Get().(*postingBuffer) }

func (s *contents) flushPostings() {
	g := s.pendingPostings
	if g == nil {
		return
	}
	s.pendingPostings = nil
	counts := g.newestByTerm // reuses the slice, whose content is no longer needed
	clear(counts)
	for _, p := range g.entries {
		counts[p.term]++
	}
	fresh := 0
	for term, n := range counts {
		if s.postings[term] == nil {
			fresh += int(n)
		}
	}
	room := make([]uint32, 0, fresh)
	s.postingCapacity += fresh
	for term, n := range counts {
		list := s.postings[term]
		if list == nil {
			at := len(room)
			room = room[:at+int(n)]
			s.postings[term] = room[at:at:len(room)]
			continue
		}
		s.postings[term] = slices.Grow(list, int(n))
		s.postingCapacity += cap(s.postings[term]) - cap(list)
	}
	for _, p := range g.entries {
		s.postings[p.term] = append(s.postings[p.term], p.packed)
	}
	if cap(g.entries) <= maxBuffered {
		g.entries, g.newestByTerm = g.entries[:0], g.newestByTerm[:0]
		postingBufferPool.Put(g)
	}
}
