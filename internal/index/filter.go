package index

import (
	"slices"

	"github.com/loci-memory/loci/memory"
)

// filter selects the documents of a segment that a search may return.
type filter struct {
	everything bool // true admits all documents that are not deleted; the other fields are then ignored
	scopes     []bool
	kinds      [4]bool
	thread     int32 // conversation number; none means any
	category   int32 // category number; none means any
	tag        string
	now        int64   // microseconds since 1970; 0 disables the check of expiry
	excluded   []int32 // sorted document numbers
	only       []int32 // sorted document numbers; nil means any
}

// noMatch is the number of a conversation or category that no document has.
const noMatch = -2

func newFilter(c *contents, s *memory.Search) filter {
	f := filter{everything: len(s.Kinds) == 0, scopes: make([]bool, len(c.scopes)), thread: none, category: none, tag: s.Tag}
	for i, scope := range c.scopes {
		f.scopes[i] = slices.ContainsFunc(s.Scopes, func(asks memory.Scope) bool { return asks.Sees(scope) })
		f.everything = f.everything && f.scopes[i]
	}
	for kind := fact; kind <= summary; kind++ {
		f.kinds[kind] = len(s.Kinds) == 0 || slices.Contains(s.Kinds, kindNames[kind])
	}
	if s.Conversation != "" {
		f.thread = c.convs.number(s.Conversation)
	}
	if s.Category != "" {
		f.category = c.names.number(s.Category)
	}
	if len(c.expires) > 0 && !s.Now.IsZero() {
		f.now = s.Now.UnixMicro()
	}
	f.excluded = c.documents(f.excluded, s.Exclude)
	if s.Only != nil {
		f.only = c.documents([]int32{}, s.Only)
	}
	f.everything = f.everything && f.thread == none && f.category == none && f.tag == "" && f.now == 0 && f.excluded == nil && f.only == nil
	return f
}

// appendDocuments appends the documents with these ids to list and sorts it.
func (s *contents) documents(list []int32, ids map[string]bool) []int32 {
	for id, is := range ids {
		k, _ := keyOf(id)
		if n, ok := s.byID[k]; ok && is {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// lookup returns the number of a string, or noMatch if the string is unknown.
func (n *names) number(s string) int32 {
	if id, ok := n.ids[s]; ok {
		return id
	}
	return noMatch
}

// admits reports whether a search may return document n.
func (p *segment) admits(n int32) bool {
	f, kind := &p.filter, p.kinds[n]
	if kind == 0 || f.everything {
		return kind != 0
	}
	d := &p.docs[n]
	if !f.kinds[kind] || !f.scopes[d.scope] ||
		f.thread != none && f.thread != d.thread || f.category != none && f.category != d.category {
		return false
	}
	if f.tag != "" && !slices.Contains(p.tags[n], f.tag) {
		return false
	}
	if f.now != 0 {
		if end, ok := p.expires[n]; ok && f.now >= end {
			return false
		}
	}
	if f.only != nil {
		if _, is := slices.BinarySearch(f.only, n); !is {
			return false
		}
	}
	_, excluded := slices.BinarySearch(f.excluded, n)
	return !excluded
}
