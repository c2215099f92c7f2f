package index

import (
	"slices"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// correct treats words of the question that no segment contains as misspelt. It takes words one
// edit away from the owners' own words or else from the tables of synonyms and classes, and returns
// the corrections.
func correct(parts []*segment, asked string, terms []string) (taken []memory.Misspelt) {
	tried := 0
	for i, t := range terms {
		var meant, tabled []string
		if tried < text.MostTried && nobodyHas(parts, i) {
			tried++
			meant, tabled = text.Meant(asked, t, func(m []byte) bool { return somebodyHas(parts, m) })
		}
		for _, m := range meant {
			take(parts, 2*i, m)
		}
		for _, m := range tabled {
			takeRelated(parts, i, m)
		}
		if len(meant)+len(tabled) > 0 {
			taken = append(taken, memory.Misspelt{Word: text.WordWith(asked, t), Meant: slices.Concat(meant, tabled)})
		}
	}
	return taken
}

// nobodyHas reports whether no living document has the question's term i or a related term.
func nobodyHas(parts []*segment, i int) bool {
	for _, p := range parts {
		if slices.ContainsFunc(p.lists[2*i], p.lives) || slices.ContainsFunc(p.lists[2*i+1], p.lives) {
			return false
		}
	}
	return true
}

// lives reports whether a list of postings contains a living document.
func (p *segment) lives(list []uint32) bool {
	return slices.ContainsFunc(list, func(posting uint32) bool { return p.kinds[posting>>8] != 0 })
}

// somebodyHas reports whether a living document has a term.
func somebodyHas(parts []*segment, term []byte) bool {
	return slices.ContainsFunc(parts, func(p *segment) bool {
		id, ok := p.terms[string(term)]
		return ok && p.lives(p.posts[id])
	})
}

// takeRelated adds postings to the related terms of the question's term i: those of terms related
// to a missing word, except the question's own terms.
func takeRelated(parts []*segment, i int, term string) {
	for _, other := range text.Related(term) {
		if !slices.Contains(parts[0].asked, other) {
			take(parts, 2*i+1, other)
		}
	}
}

// take adds the postings of a term to those of list i.
func take(parts []*segment, i int, term string) {
	for _, p := range parts {
		if id, ok := p.terms[term]; ok {
			p.lists[i] = append(p.lists[i], p.posts[id])
		}
	}
}
