package index

import (
	"slices"

	"github.com/loci-memory/loci/memory"
)

// filter is the conditions of a search for the documents of one segment.
type filter struct {
	allowAll     bool    // true admits all documents that are not deleted; the other fields are then ignored
	scopes       []bool  // whether a scope is admitted, by scope number
	kinds        [4]bool // whether a kind is admitted, by kind
	conversation int32   // conversation number; none means any
	category     int32   // category number; none means any
	tag          string  // "" means any
	now          int64   // microseconds since 1970; 0 disables the check of expiry
	excludedDocs []int32 // sorted document numbers
	allowedDocs  []int32 // sorted document numbers; nil means any
}

// noMatch is the number of an unknown conversation or category; a filter for it admits no document.
const noMatch = -2

func newFilter(c *contents, s *memory.Search) filter {
	f := filter{allowAll: len(s.Kinds) == 0, scopes: make([]bool, len(c.scopes)), conversation: none, category: none, tag: s.Tag}
	for i, scope := range c.scopes {
		f.scopes[i] = slices.ContainsFunc(s.Scopes, func(requested memory.Scope) bool { return requested.Sees(scope) })
		f.allowAll = f.allowAll && f.scopes[i]
	}
	for kind := fact; kind <= summary; kind++ {
		f.kinds[kind] = len(s.Kinds) == 0 || slices.Contains(s.Kinds, kindNames[kind])
	}
	if s.Conversation != "" {
		f.conversation = c.conversations.lookup(s.Conversation)
	}
	if s.Category != "" {
		f.category = c.labels.lookup(s.Category)
	}
	if len(c.expiryMicros) > 0 && !s.Now.IsZero() {
		f.now = s.Now.UnixMicro()
	}
	f.excludedDocs = c.appendDocuments(f.excludedDocs, s.ExcludedIDs)
	if s.AllowedIDs != nil {
		f.allowedDocs = c.appendDocuments([]int32{}, s.AllowedIDs)
	}
	f.allowAll = f.allowAll && f.conversation == none && f.category == none && f.tag == "" && f.now == 0 && f.excludedDocs == nil && f.allowedDocs == nil
	return f
}

// appendDocuments appends the documents with these ids to list and sorts it.
func (s *contents) appendDocuments(list []int32, ids map[string]bool) []int32 {
	for id, is := range ids {
		k, _ := keyOf(id)
		if n, ok := s.docByID[k]; ok && is {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// lookup returns the number of a string, or noMatch if the string is unknown.
func (n *stringTable) lookup(s string) int32 {
	if id, ok := n.numbers[s]; ok {
		return id
	}
	return noMatch
}

// admits reports whether a search may return document n.
func (p *segment) admits(n int32) bool {
	f, kind := &p.filter, p.kinds[n]
	if kind == 0 || f.allowAll {
		return kind != 0
	}
	d := &p.docs[n]
	if !f.kinds[kind] || !f.scopes[d.scope] ||
		f.conversation != none && f.conversation != d.conversation || f.category != none && f.category != d.category {
		return false
	}
	if f.tag != "" && !slices.Contains(p.tagsByDoc[n], f.tag) {
		return false
	}
	if f.now != 0 {
		if end, ok := p.expiryMicros[n]; ok && f.now >= end {
			return false
		}
	}
	if f.allowedDocs != nil {
		if _, is := slices.BinarySearch(f.allowedDocs, n); !is {
			return false
		}
	}
	_, excluded := slices.BinarySearch(f.excludedDocs, n)
	return !excluded
}
