package index

// compact removes the deleted documents and renumbers the remaining documents in order. Slices that
// candidates refer to stay valid.
func (s *contents) compact() {
	next := contents{
		offloaded: s.offloaded, version: s.version, steps: s.steps, newest: s.newest, dims: s.dims, vectorless: s.vectorless, vectorsUnused: s.vectorsUnused, byID: s.byID, odd: map[int32]string{}, terms: map[string]int32{},
		threads: s.threads, convs: s.convs, names: s.names, scopes: s.scopes,
		tags: map[int32][]string{}, expires: map[int32]int64{}, count: s.count, total: s.total, words: s.words,
	}
	renumbered := make([]int32, len(s.docs))
	for n := range s.docs {
		renumbered[n] = none
		if s.kinds[n] != 0 {
			renumbered[n] = next.copyDocument(s, int32(n))
		}
	}
	for n, l := range next.link {
		next.link[n] = neighbours{renumber(renumbered, l.prev), renumber(renumbered, l.next)}
	}
	for n := range next.docs {
		next.near[n] = next.reach(int32(n))
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
			next.indexCharacters(term, int32(len(next.posts)))
			next.posts = append(next.posts, list)
		}
	}
	next.pack()
	*s = next
}

// copyDocument copies a document, without its links, and returns its new number.
func (s *contents) copyDocument(from *contents, n int32) int32 {
	to := int32(len(s.docs))
	d := from.docs[n]
	if row := d.row; row >= 0 {
		d.row = s.addHalf(to, from.half(row))
		if i := row / chunkRows; i > 0 {
			from.chunks[i-1] = chunk{} // rows are in document order, so the earlier chunks are no longer needed
		}
	}
	moments := from.momentsOf(n)
	d.dates = int32(len(s.moments))
	s.moments = append(s.moments, moments...)
	if id, ok := from.odd[n]; ok {
		s.odd[to] = id
	}
	if tags, ok := from.tags[n]; ok {
		s.tags[to] = tags
	}
	if end, ok := from.expires[n]; ok {
		s.expires[to] = end
	}
	s.docs = append(s.docs, d)
	s.kinds = append(s.kinds, from.kinds[n])
	s.link = append(s.link, from.link[n])
	s.near = append(s.near, 0)
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

// packPostings moves all posting lists into one slice without spare capacity.
func (s *contents) pack() {
	total := 0
	for _, list := range s.posts {
		total += len(list)
	}
	all := make([]uint32, 0, total)
	for i, list := range s.posts {
		from := len(all)
		all = append(all, list...)
		s.posts[i] = all[from:len(all):len(all)]
	}
	s.postingCapacity = total
}
