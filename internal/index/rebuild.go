package index

import (
	"slices"

	"github.com/loci-memory/loci/memory"
)

// rebuild derives the data that a checkpoint omits, and checks all data, so that a search of a damaged
// checkpoint cannot panic.
func (s *contents) rebuild(f *frame, owner memory.Owner, lengths []int32, postings []uint32) error {
	n := len(s.docs)
	if len(s.kinds) != n || len(s.ownLengths) != n || n >= 1<<24 {
		return unusablef("the file has %d memories, but %d kinds and %d lengths", n, len(s.kinds), len(s.ownLengths))
	}
	s.dims, s.scopes, s.newest = f.Dims, f.Scopes, newestVersion{f.Newest, f.IDs}
	for _, scope := range s.scopes {
		if scope.Owner != owner {
			return unusablef("the file contains another owner's memories")
		}
	}
	if !s.conversations.setAll(f.Convs) || !s.labels.setAll(f.Names) {
		return unusablef("a name occurs twice")
	}
	for doc, id := range f.Odd {
		if k, uuid := keyOf(id); doc < 0 || int(doc) >= n || s.docs[doc].id != k || uuid {
			return unusablef("an id is malformed")
		}
	}
	if f.Odd != nil {
		s.textIDs = f.Odd
	}
	if !areKeysBelow(f.Tags, n) || !areKeysBelow(f.Expires, n) {
		return unusablef("the file refers to a memory that it does not contain")
	}
	if f.Tags != nil {
		s.tagsByDoc = f.Tags
	}
	if f.Expires != nil {
		s.expiryMicros = f.Expires
	}
	if err := s.restorePostings(f.Terms, lengths, postings); err != nil {
		return err
	}
	return s.restoreDocs(f.Rows)
}

func areKeysBelow[T any](byDoc map[int32]T, n int) bool {
	for doc := range byDoc {
		if doc < 0 || int(doc) >= n {
			return false
		}
	}
	return true
}

// setAll sets the strings, numbered by position, and reports whether list has no duplicates.
func (n *stringTable) setAll(list []string) bool {
	n.list, n.numbers = list, make(map[string]int32, len(list))
	for i, name := range list {
		n.numbers[name] = int32(i)
	}
	return len(n.numbers) == len(list)
}

func (s *contents) restorePostings(terms []string, lengths []int32, postings []uint32) error {
	if len(terms) != len(lengths) {
		return unusablef("the file has %d terms, but %d posting lists", len(terms), len(lengths))
	}
	s.postingCapacity, s.postings = len(postings), make([][]uint32, len(lengths))
	for i, length := range lengths {
		if length < 0 || int(length) > len(postings) {
			return unusablef("a posting list has an invalid length of %d", length)
		}
		s.postings[i], postings = postings[:length:length], postings[length:]
		last := int64(-1)
		for _, p := range s.postings[i] {
			if int64(p>>8) <= last || int(p>>8) >= len(s.docs) || p&maxCount == 0 {
				return unusablef("a posting is invalid or not in ascending order")
			}
			last = int64(p >> 8)
		}
		s.terms[terms[i]] = int32(i)
		s.indexCharacters(terms[i], int32(i))
	}
	if len(postings) > 0 || len(s.terms) != len(terms) {
		return unusablef("a term occurs twice, or postings belong to no term")
	}
	return nil
}

func (s *contents) restoreDocs(rows int) error {
	s.conversationTurns = make([]turnList, len(s.conversations.list))
	s.docByRow = slices.Repeat([]int32{none}, rows)
	s.docByID = make(map[idKey]int32, len(s.docs))
	s.links, s.reaches, s.blendedLengths = slices.Repeat([]neighbours{{none, none}}, len(s.docs)), make([]reach, len(s.docs)), make([]int32, len(s.docs))
	for i := range s.docs {
		n, d := int32(i), &s.docs[i]
		if !s.isValid(d, s.kinds[i], rows) {
			return unusablef("memory %d is invalid", i)
		}
		if s.kinds[i] == 0 {
			s.deletedCount++
			s.reaches[i], s.ownLengths[i] = reachDeleted, 0
			continue
		}
		if _, again := s.docByID[d.id]; again || d.row >= 0 && s.docByRow[d.row] != none {
			return unusablef("the id or the vector of memory %d occurs twice", i)
		}
		s.docByID[d.id] = n
		switch d.row {
		case none:
			s.vectorlessCount++
		case offloadedRow:
		default:
			s.docByRow[d.row] = n
		}
		s.kindCounts[s.kinds[i]]++
		s.ownTotals[s.kinds[i]] += int64(s.ownLengths[i])
		if s.kinds[i] == turn {
			s.conversationTurns[d.conversation] = append(s.conversationTurns[d.conversation], n)
		}
	}
	for _, c := range s.chunks {
		for _, scale := range c.int8Rows.Scales {
			s.maxScale = max(s.maxScale, scale)
		}
	}
	s.linkTurns()
	return nil
}

// isValid reports whether all numbers in a document are those of existing strings, scopes, rows and dates.
func (s *contents) isValid(d *doc, k kind, rows int) bool {
	isIndex := func(i int32, length int, optional bool) bool {
		return 0 <= i && int(i) < length || optional && i == none
	}
	return k <= summary && isIndex(d.scope, len(s.scopes), false) && isIndex(d.role, len(s.labels.list), false) &&
		isIndex(d.conversation, len(s.conversations.list), k != turn) && (isIndex(d.row, rows, true) || s.offloaded && d.row == offloadedRow) &&
		isIndex(d.speaker, len(s.labels.list), true) && isIndex(d.category, len(s.labels.list), true) &&
		d.firstDate >= 0 && int(d.firstDate)+int(d.dateCount) <= len(s.mentionedDates)
}

// linkTurns links the turns of each conversation, and computes all blended lengths.
func (s *contents) linkTurns() {
	for _, t := range s.conversationTurns {
		slices.SortFunc(t, func(a, b int32) int {
			if s.precedes(a, b) {
				return -1
			}
			return 1
		})
		for i := 1; i < len(t); i++ {
			s.links[t[i-1]].next, s.links[t[i]].prev = t[i], t[i-1]
		}
	}
	for n := range s.docs {
		if s.kinds[n] != 0 {
			s.updateLength(int32(n))
		}
	}
}
