package index

import (
	"slices"
	"sort"
)

// insertTurn inserts a turn among its conversation's turns.
func (s *contents) join(n int32) {
	t := s.threads[s.docs[n].thread]
	at := sort.Search(len(t), func(i int) bool { return s.precedes(n, t[i]) })
	t = slices.Insert(t, at, n)
	s.threads[s.docs[n].thread] = t
	prev, next := int32(none), int32(none)
	if at > 0 {
		prev = t[at-1]
	}
	if at+1 < len(t) {
		next = t[at+1]
	}
	s.link[n] = neighbours{prev, next}
	if prev != none {
		s.link[prev].next = n
	}
	if next != none {
		s.link[next].prev = n
	}
}

// precedes reports whether turn a precedes turn b. Turns are sorted by index, then by id, so that
// the order does not depend on arrival.
func (s *contents) precedes(a, b int32) bool {
	if x, y := s.docs[a].place, s.docs[b].place; x != y {
		return x < y
	}
	return compareIDs(s, a, s, b) < 0
}

// removeTurn removes a turn from its conversation and closes the gap.
func (s *contents) leave(n int32) {
	l := s.link[n]
	t := s.threads[s.docs[n].thread]
	at := sort.Search(len(t), func(i int) bool { return !s.precedes(t[i], n) })
	s.threads[s.docs[n].thread] = slices.Delete(t, at, at+1)
	s.link[n] = neighbours{none, none}
	if l.prev != none {
		s.link[l.prev].next = l.next
	}
	if l.next != none {
		s.link[l.next].prev = l.prev
	}
	if l.prev != none {
		s.measureAround(l.prev)
	}
	if l.next != none {
		s.measureAround(l.next)
	}
}

// updateLengthsAround updates the blended lengths of document n and of the neighbours to which it
// contributes.
func (s *contents) measureAround(n int32) {
	s.measure(n)
	s.around(n, func(m, _ int32) { s.measure(m) })
}

func (s *contents) measure(n int32) {
	length := s.olen[n] * ownShare
	s.around(n, func(m, share int32) { length += s.olen[m] * share })
	kind := s.kinds[n]
	s.total[kind] += int64(length - s.blen[n])
	s.blen[n] = length
	s.near[n] = s.reach(n)
}

// eachNeighbour yields the neighbours that contribute to document n, with their share in 1/60.
func (s *contents) around(n int32, yield func(m, share int32)) {
	prev, next := s.link[n].prev, s.link[n].next
	for _, share := range shares {
		if prev != none {
			yield(prev, share)
			prev = s.link[prev].prev
		}
		if next != none {
			yield(next, share)
			next = s.link[next].next
		}
	}
}

// reach tells where a document's neighbours are. If they have adjacent numbers, it holds how many
// precede and follow the document (before | after<<2). Otherwise it is reachFar.
type reach uint8

const (
	far  reach = 1 << 4 // the neighbours have other numbers: follow the links
	gone reach = 1 << 5 // the document is deleted
)

func (s *contents) reach(n int32) reach {
	var before, after int32
	for m := s.link[n].prev; m != none && before < int32(len(shares)); m = s.link[m].prev {
		if before++; m != n-before {
			return far
		}
	}
	for m := s.link[n].next; m != none && after < int32(len(shares)); m = s.link[m].next {
		if after++; m != n+after {
			return far
		}
	}
	return reach(before | after<<2)
}
