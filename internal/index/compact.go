package index

import "unsafe"

// compact forgets the dead, numbering the living anew in the same order. Slices
// that candidates were given stay as they are.
func (s *contents) compact() {
	next := contents{
		dims: s.dims, byID: s.byID, terms: map[string]int32{}, threads: s.threads, convs: s.convs, names: s.names, scopes: s.scopes,
		tags: map[int32][]string{}, expires: map[int32]int64{}, count: s.count, total: s.total, words: s.words,
	}
	renumbered := make([]int32, len(s.docs))
	for n := range s.docs {
		renumbered[n] = none
		if s.docs[n].kind != 0 {
			renumbered[n] = next.take(s, int32(n))
		}
	}
	for n, l := range next.link {
		next.link[n] = neighbours{renumber(renumbered, l.prev), renumber(renumbered, l.next)}
	}
	for _, t := range next.threads {
		for i := range t {
			t[i] = renumbered[t[i]]
		}
	}
	for term, id := range s.terms {
		var list []uint32
		for _, p := range s.posts[id] {
			if n := renumbered[p>>8]; n != none {
				list = append(list, uint32(n)<<8|p&maxCount)
			}
		}
		if list != nil {
			next.terms[term] = int32(len(next.posts))
			next.posts = append(next.posts, list)
			next.held += len(list)
		}
	}
	*s = next
}

// take copies a living document, but for its links, and returns its number.
func (s *contents) take(from *contents, n int32) int32 {
	to := int32(len(s.docs))
	d := from.docs[n]
	if row := int(d.row); row != none {
		d.row = int32(len(s.rowDoc))
		one := from.quant.Rows(row, row+1, s.dims)
		s.quant.Values = append(s.quant.Values, one.Values...)
		s.quant.Scales, s.quant.Sums = append(s.quant.Scales, one.Scales...), append(s.quant.Sums, one.Sums...)
		s.half = append(s.half, from.half[row*s.dims:(row+1)*s.dims]...)
		s.rowDoc = append(s.rowDoc, to)
	}
	if tags, ok := from.tags[n]; ok {
		s.tags[to] = tags
	}
	if end, ok := from.expires[n]; ok {
		s.expires[to] = end
	}
	s.docs = append(s.docs, d)
	s.kinds = append(s.kinds, from.kinds[n])
	s.threadOf = append(s.threadOf, from.threadOf[n])
	s.link = append(s.link, from.link[n])
	s.olen = append(s.olen, from.olen[n])
	s.blen = append(s.blen, from.blen[n])
	s.byID[d.id] = to
	return to
}

func renumber(renumbered []int32, n int32) int32 {
	if n == none {
		return none
	}
	return renumbered[n]
}

// Estimates of what Go keeps beside the bytes themselves, measured on large maps
// and small slices.
const (
	mapEntry  = 48
	listEntry = 48
)

// size estimates the resident bytes.
func (s *contents) size() int64 {
	const perDoc = unsafe.Sizeof(doc{}) + unsafe.Sizeof(neighbours{}) + 13 + mapEntry + 36
	size := int64(len(s.docs)) * int64(perDoc)
	size += int64(len(s.posts))*(mapEntry+listEntry+8) + int64(s.held)*5
	size += int64(len(s.quant.Values)) + int64(len(s.half))*2 + int64(len(s.rowDoc))*12
	return size + int64(len(s.threads)+len(s.names.list))*(mapEntry+40)
}
