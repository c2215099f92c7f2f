package index

import (
	"slices"
	"sync"
)

// postingBuffer collects the postings of many new documents, in document order, before they are
// added to the lists of their terms. Each list then allocates memory once.
type postingBuffer struct {
	posts []posting
	last  []int32 // by term: index of its newest posting in entries; none if there is no posting
}

type posting struct {
	term int32
	post uint32 // as in contents.postings
}

// maxBuffered is the largest number of postings whose buffer is reused.
const maxBuffered = 1 << 17

var postingBuffers = sync.Pool{New: func() any { return &postingBuffer{} }}

func (g *postingBuffer) addPosting(n, term int32, weight int32) {
	for int(term) >= len(g.last) {
		g.last = append(g.last, none)
	}
	if at := g.last[term]; at != none && int32(g.posts[at].post>>8) == n {
		g.posts[at].post = raisedPosting(g.posts[at].post, weight)
		return
	}
	g.last[term] = int32(len(g.posts))
	g.posts = append(g.posts, posting{term, uint32(n)<<8 | uint32(weight)})
}

// bufferPostings makes the contents collect postings until flushPostings is called.
func (s *contents) bufferPostings() { s.buffer = postingBuffers.Get().(*postingBuffer) }

func (s *contents) flushPostings() {
	g := s.buffer
	if g == nil {
		return
	}
	s.buffer = nil
	counts := g.last // reuses the memory, which is no longer read
	clear(counts)
	for _, p := range g.posts {
		counts[p.term]++
	}
	fresh := 0
	for term, n := range counts {
		if s.posts[term] == nil {
			fresh += int(n)
		}
	}
	room := make([]uint32, 0, fresh)
	s.postingCapacity += fresh
	for term, n := range counts {
		list := s.posts[term]
		if list == nil {
			at := len(room)
			room = room[:at+int(n)]
			s.posts[term] = room[at:at:len(room)]
			continue
		}
		s.posts[term] = slices.Grow(list, int(n))
		s.postingCapacity += cap(s.posts[term]) - cap(list)
	}
	for _, p := range g.posts {
		s.posts[p.term] = append(s.posts[p.term], p.post)
	}
	if cap(g.posts) <= maxBuffered {
		g.posts, g.last = g.posts[:0], g.last[:0]
		postingBuffers.Put(g)
	}
}
