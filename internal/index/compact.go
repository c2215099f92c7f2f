package index

// compact removes the deleted documents and renumbers the remaining documents in order. It does not
// overwrite slices that earlier candidates refer to.
func (s *contents) compact() {
	next := contents{
		offloaded: s.offloaded, version: s.version, unsavedChanges: s.unsavedChanges, newest: s.newest, dims: s.dims, vectorlessCount: s.vectorlessCount, ignoresVectors: s.ignoresVectors, docByID: s.docByID, textIDs: map[int32]string{}, terms: map[string]int32{},
		conversationTurns: s.conversationTurns, conversations: s.conversations, labels: s.labels, scopes: s.scopes,
		tagsByDoc: map[int32][]string{}, expiryMicros: map[int32]int64{}, kindCounts: s.kindCounts, blendedTotals: s.blendedTotals, ownTotals: s.ownTotals,
	}
	renumbered := make([]int32, len(s.docs))
	for n := range s.docs {
		renumbered[n] = none
		if s.kinds[n] != 0 {
			renumbered[n] = next.copyDocument(s, int32(n))
		}
	}
	for n, l := range next.links {
		next.links[n] = neighbours{newNumber(renumbered, l.prev), newNumber(renumbered, l.next)}
	}
	for n := range next.docs {
		next.reaches[n] = next.reachOf(int32(n))
	}
	for _, t := range next.conversationTurns {
		for i := range t {
			t[i] = renumbered[t[i]]
		}
	}
	for term, id := range s.terms {
		var list []uint32
		for _, p := range s.postings[id] {
			if n := renumbered[p>>8]; n != none {
				list = append(list, uint32(n)<<8|p&maxCount)
			}
		}
		if list != nil {
			next.terms[term] = int32(len(next.postings))
			next.indexCharacters(term, int32(len(next.postings)))
			next.postings = append(next.postings, list)
		}
	}
	next.packPostings()
	*s = next
}

// copyDocument copies document n of source and returns its new number. The copied links still contain
// old numbers.
func (s *contents) copyDocument(source *contents, n int32) int32 {
	to := int32(len(s.docs))
	d := source.docs[n]
	if row := d.row; row >= 0 {
		d.row = s.appendPacked(to, source.packedRow(row))
		if i := row / chunkRows; i > 0 {
			source.chunks[i-1] = chunk{} // rows are in document order, so the remaining documents do not need the earlier chunks
		}
	}
	moments := source.datesOf(n)
	d.firstDate = int32(len(s.mentionedDates))
	s.mentionedDates = append(s.mentionedDates, moments...)
	if id, ok := source.textIDs[n]; ok {
		s.textIDs[to] = id
	}
	if tags, ok := source.tagsByDoc[n]; ok {
		s.tagsByDoc[to] = tags
	}
	if end, ok := source.expiryMicros[n]; ok {
		s.expiryMicros[to] = end
	}
	s.docs = append(s.docs, d)
	s.kinds = append(s.kinds, source.kinds[n])
	s.links = append(s.links, source.links[n])
	s.reaches = append(s.reaches, 0)
	s.ownLengths = append(s.ownLengths, source.ownLengths[n])
	s.blendedLengths = append(s.blendedLengths, source.blendedLengths[n])
	s.docByID[d.id] = to
	return to
}

func newNumber(renumbered []int32, n int32) int32 {
	if n == none {
		return none
	}
	return renumbered[n]
}

// packPostings moves all posting lists into one slice without spare capacity.
func (s *contents) packPostings() {
	total := 0
	for _, list := range s.postings {
		total += len(list)
	}
	all := make([]uint32, 0, total)
	for i, list := range s.postings {
		from := len(all)
		all = append(all, list...)
		s.postings[i] = all[from:len(all):len(all)]
	}
	s.postingCapacity = total
}
