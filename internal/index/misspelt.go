package index

import (
	"slices"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// correctMisspelt treats words of the question that no segment contains as misspelt. It replaces
// each by words one edit away, from the owners' memories or else from the tables of synonyms and
// classes, and returns the corrections.
func correct(parts []*segment, asked string, terms []string) (taken []memory.Misspelt) {
	tried := 0
	for i, t := range terms {
		var meant, tabled []string
		if tried < text.MaxCorrectedWords && noDocumentHas(parts, i) {
			tried++
			meant, tabled = text.SpellingCorrections(asked, t, func(m []byte) bool { return anyDocumentHas(parts, m) })
		}
		for _, m := range meant {
			addPostings(parts, 2*i, m)
		}
		for _, m := range tabled {
			addRelatedPostings(parts, i, m)
		}
		if len(meant)+len(tabled) > 0 {
			taken = append(taken, memory.Misspelt{Word: text.WordWith(asked, t), Meant: slices.Concat(meant, tabled)})
		}
	}
	return taken
}

// noDocumentHas reports whether no document has the question's term i or a related term.
func noDocumentHas(parts []*segment, i int) bool {
	for _, p := range parts {
		if slices.ContainsFunc(p.lists[2*i], p.hasLiving) || slices.ContainsFunc(p.lists[2*i+1], p.hasLiving) {
			return false
		}
	}
	return true
}

func (p *segment) hasLiving(list []uint32) bool {
	return slices.ContainsFunc(list, func(posting uint32) bool { return p.kinds[posting>>8] != 0 })
}

// anyDocumentHas reports whether a document that is not deleted has a term.
func anyDocumentHas(parts []*segment, term []byte) bool {
	return slices.ContainsFunc(parts, func(p *segment) bool {
		id, ok := p.terms[string(term)]
		return ok && p.hasLiving(p.posts[id])
	})
}

// addRelatedPostings adds to the related terms of the question's term i the terms related to term,
// its correction. It omits the question's own terms.
func addRelatedPostings(parts []*segment, i int, term string) {
	for _, other := range text.Related(term) {
		if !slices.Contains(parts[0].asked, other) {
			addPostings(parts, 2*i+1, other)
		}
	}
}

// appendTermPostings appends the postings of a term to list i of each segment.
func addPostings(parts []*segment, i int, term string) {
	for _, p := range parts {
		if id, ok := p.terms[term]; ok {
			p.lists[i] = append(p.lists[i], p.posts[id])
		}
	}
}
