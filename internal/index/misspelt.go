package index

import (
	"slices"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// correct looks for words of the question that no part has as misspelt: what is one slip away
// among the owners' own words is taken as the question's, or else what is so in the tables of
// synonyms and classes. It returns what was taken for what, and costs nothing where all words are known.
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

// nobodyHas reports whether no part has anything living for the question's term i, nor for what
// is related to it.
func nobodyHas(parts []*segment, i int) bool {
	for _, p := range parts {
		if slices.ContainsFunc(p.lists[2*i], p.lives) || slices.ContainsFunc(p.lists[2*i+1], p.lives) {
			return false
		}
	}
	return true
}

// lives reports whether a document that is not forgotten is in a list of postings.
func (p *segment) lives(list []uint32) bool {
	return slices.ContainsFunc(list, func(posting uint32) bool { return p.kinds[posting>>8] != 0 })
}

// somebodyHas reports whether a document that is not forgotten has a term.
func somebodyHas(parts []*segment, term []byte) bool {
	return slices.ContainsFunc(parts, func(p *segment) bool {
		id, ok := p.terms[string(term)]
		return ok && p.lives(p.posts[id])
	})
}

// takeRelated adds the postings of what is related to a word that nobody has, but for what is asked
// itself, to those of what is related to the question's term i.
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
