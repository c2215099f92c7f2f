package index

import (
	"slices"
	"sort"
)

// insertTurn inserts a turn among its conversation's turns.
func (s *contents) insertTurn(n int32) {
	t := s.conversationTurns[s.docs[n].conversation]
	at := sort.Search(len(t), func(i int) bool { return s.precedes(n, t[i]) })
	t = slices.Insert(t, at, n)
	s.conversationTurns[s.docs[n].conversation] = t
	prev, next := int32(none), int32(none)
	if at > 0 {
		prev = t[at-1]
	}
	if at+1 < len(t) {
		next = t[at+1]
	}
	s.links[n] = neighbours{prev, next}
	if prev != none {
		s.links[prev].next = n
	}
	if next != none {
		s.links[next].prev = n
	}
}

// precedes reports whether turn a precedes turn b. Turns are sorted by index, then by id, so that their
// order does not depend on the order of adding.
func (s *contents) precedes(a, b int32) bool {
	if x, y := s.docs[a].turnIndex, s.docs[b].turnIndex; x != y {
		return x < y
	}
	return compareIDs(s, a, s, b) < 0
}

// removeTurn removes a turn from its conversation and links the turns before and after it.
func (s *contents) removeTurn(n int32) {
	l := s.links[n]
	t := s.conversationTurns[s.docs[n].conversation]
	at := sort.Search(len(t), func(i int) bool { return !s.precedes(t[i], n) })
	s.conversationTurns[s.docs[n].conversation] = slices.Delete(t, at, at+1)
	s.links[n] = neighbours{none, none}
	if l.prev != none {
		s.links[l.prev].next = l.next
	}
	if l.next != none {
		s.links[l.next].prev = l.prev
	}
	if l.prev != none {
		s.updateLengthsAround(l.prev)
	}
	if l.next != none {
		s.updateLengthsAround(l.next)
	}
}

// updateLengthsAround updates the blended lengths of document n and of its neighbours.
func (s *contents) updateLengthsAround(n int32) {
	s.updateLength(n)
	s.eachNeighbour(n, func(m, _ int32) { s.updateLength(m) })
}

func (s *contents) updateLength(n int32) {
	length := s.ownLengths[n] * ownShare
	s.eachNeighbour(n, func(m, share int32) { length += s.ownLengths[m] * share })
	kind := s.kinds[n]
	s.blendedTotals[kind] += int64(length - s.blendedLengths[n])
	s.blendedLengths[n] = length
	s.reaches[n] = s.reachOf(n)
}

// eachNeighbour yields the neighbours that contribute to document n, with their shares in units of 1/60.
func (s *contents) eachNeighbour(n int32, yield func(m, share int32)) {
	prev, next := s.links[n].prev, s.links[n].next
	for _, share := range neighbourShares {
		if prev != none {
			yield(prev, share)
			prev = s.links[prev].prev
		}
		if next != none {
			yield(next, share)
			next = s.links[next].next
		}
	}
}

// reach encodes which documents are the neighbours of a document. If the neighbours have adjacent
// numbers, it is the count of preceding ones plus four times the count of following ones, each at most 3.
type reach uint8

const (
	reachFar     reach = 1 << 4 // the neighbours' numbers are not adjacent: find them by the links
	reachDeleted reach = 1 << 5 // the document is deleted
)

func (s *contents) reachOf(n int32) reach {
	var before, after int32
	for m := s.links[n].prev; m != none && before < int32(len(neighbourShares)); m = s.links[m].prev {
		if before++; m != n-before {
			return reachFar
		}
	}
	for m := s.links[n].next; m != none && after < int32(len(neighbourShares)); m = s.links[m].next {
		if after++; m != n+after {
			return reachFar
		}
	}
	return reach(before | after<<2)
}
