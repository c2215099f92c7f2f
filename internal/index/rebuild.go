package index

import (
	"slices"

	"github.com/loci-memory/loci/memory"
)

// rebuild derives the data that a checkpoint omits, and checks that everything is consistent.
// Searching any data that passes the checks is safe.
func (s *contents) rebuild(f *frame, owner memory.Owner, lengths []int32, postings []uint32) error {
	n := len(s.docs)
	if len(s.kinds) != n || len(s.olen) != n || n >= 1<<24 {
		return unusablef("it has %d memories, %d kinds and %d lengths", n, len(s.kinds), len(s.olen))
	}
	s.dims, s.scopes, s.newest = f.Dims, f.Scopes, newest{f.Newest, f.IDs}
	for _, scope := range s.scopes {
		if scope.Owner != owner {
			return unusablef("it contains another owner's memories")
		}
	}
	if !s.convs.load(f.Convs) || !s.names.load(f.Names) {
		return unusablef("it has a name twice")
	}
	for doc, id := range f.Odd {
		if k, uuid := keyOf(id); doc < 0 || int(doc) >= n || s.docs[doc].id != k || uuid {
			return unusablef("it has a malformed id")
		}
	}
	if f.Odd != nil {
		s.odd = f.Odd
	}
	if !keysWithin(f.Tags, n) || !keysWithin(f.Expires, n) {
		return unusablef("it refers to a memory that it does not contain")
	}
	if f.Tags != nil {
		s.tags = f.Tags
	}
	if f.Expires != nil {
		s.expires = f.Expires
	}
	if err := s.placePostings(f.Terms, lengths, postings); err != nil {
		return err
	}
	return s.placeDocs(f.Rows)
}

func keysWithin[T any](of map[int32]T, n int) bool {
	for doc := range of {
		if doc < 0 || int(doc) >= n {
			return false
		}
	}
	return true
}

// setAll sets the strings, numbered by position, and reports whether it has no duplicates.
func (n *names) load(list []string) bool {
	n.list, n.ids = list, make(map[string]int32, len(list))
	for i, name := range list {
		n.ids[name] = int32(i)
	}
	return len(n.ids) == len(list)
}

func (s *contents) placePostings(terms []string, lengths []int32, postings []uint32) error {
	if len(terms) != len(lengths) {
		return unusablef("it has %d terms and %d lists", len(terms), len(lengths))
	}
	s.postingCapacity, s.posts = len(postings), make([][]uint32, len(lengths))
	for i, length := range lengths {
		if length < 0 || int(length) > len(postings) {
			return unusablef("it has a list of %d postings", length)
		}
		s.posts[i], postings = postings[:length:length], postings[length:]
		last := int64(-1)
		for _, p := range s.posts[i] {
			if int64(p>>8) <= last || int(p>>8) >= len(s.docs) || p&maxCount == 0 {
				return unusablef("it has a posting out of place")
			}
			last = int64(p >> 8)
		}
		s.terms[terms[i]] = int32(i)
		s.indexCharacters(terms[i], int32(i))
	}
	if len(postings) > 0 || len(s.terms) != len(terms) {
		return unusablef("it has postings of no term, or a term twice")
	}
	return nil
}

func (s *contents) placeDocs(rows int) error {
	s.threads = make([]thread, len(s.convs.list))
	s.rowDoc = slices.Repeat([]int32{none}, rows)
	s.byID = make(map[key]int32, len(s.docs))
	s.link, s.near, s.blen = slices.Repeat([]neighbours{{none, none}}, len(s.docs)), make([]reach, len(s.docs)), make([]int32, len(s.docs))
	for i := range s.docs {
		n, d := int32(i), &s.docs[i]
		if !s.isValid(d, s.kinds[i], rows) {
			return unusablef("its memory %d is invalid", i)
		}
		if s.kinds[i] == 0 {
			s.dead++
			s.near[i], s.olen[i] = gone, 0
			continue
		}
		if _, again := s.byID[d.id]; again || d.row >= 0 && s.rowDoc[d.row] != none {
			return unusablef("it has the id or vector of memory %d twice", i)
		}
		s.byID[d.id] = n
		switch d.row {
		case none:
			s.vectorless++
		case away:
		default:
			s.rowDoc[d.row] = n
		}
		s.count[s.kinds[i]]++
		s.words[s.kinds[i]] += int64(s.olen[i])
		if s.kinds[i] == turn {
			s.threads[d.thread] = append(s.threads[d.thread], n)
		}
	}
	for _, c := range s.chunks {
		for _, scale := range c.quant.Scales {
			s.maxScale = max(s.maxScale, scale)
		}
	}
	s.chain()
	return nil
}

// isValid reports whether everything that a document refers to exists.
func (s *contents) isValid(d *doc, k kind, rows int) bool {
	in := func(i int32, n int, optional bool) bool { return 0 <= i && int(i) < n || optional && i == none }
	return k <= summary && in(d.scope, len(s.scopes), false) && in(d.role, len(s.names.list), false) &&
		in(d.thread, len(s.convs.list), k != turn) && (in(d.row, rows, true) || s.offloaded && d.row == away) &&
		in(d.speaker, len(s.names.list), true) && in(d.category, len(s.names.list), true) &&
		d.dates >= 0 && int(d.dates)+int(d.dated) <= len(s.moments)
}

// linkTurns links the turns of each conversation, and computes all blended lengths.
func (s *contents) chain() {
	for _, t := range s.threads {
		slices.SortFunc(t, func(a, b int32) int {
			if s.precedes(a, b) {
				return -1
			}
			return 1
		})
		for i := 1; i < len(t); i++ {
			s.link[t[i-1]].next, s.link[t[i]].prev = t[i], t[i-1]
		}
	}
	for n := range s.docs {
		if s.kinds[n] != 0 {
			s.measure(int32(n))
		}
	}
}
