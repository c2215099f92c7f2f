package index

import (
	"slices"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// correctMisspelt treats a word of the question as misspelt if no segment contains it or a related
// word. It replaces the word by words one edit away, from the owners' memories or else from the tables
// of synonyms and classes, and returns the corrections.
func correctMisspelt(segments []*segment, question string, terms []string) (corrections []memory.Misspelt) {
	tried := 0
	for i, t := range terms {
		var meant, tabled []string
		if tried < text.MaxCorrectedWords && noDocumentHas(segments, i) {
			tried++
			meant, tabled = text.SpellingCorrections(question, t, func(m []byte) bool { return anyDocumentHas(segments, m) })
		}
		for _, m := range meant {
			appendTermPostings(segments, 2*i, m)
		}
		for _, m := range tabled {
			addRelatedPostings(segments, i, m)
		}
		if len(meant)+len(tabled) > 0 {
			corrections = append(corrections, memory.Misspelt{Word: text.FirstWordWithTerm(question, t), Meant: slices.Concat(meant, tabled)})
		}
	}
	return corrections
}

// noDocumentHas reports whether no document has the question's term number termIndex or a related term.
func noDocumentHas(segments []*segment, termIndex int) bool {
	for _, p := range segments {
		if slices.ContainsFunc(p.postingLists[2*termIndex], p.hasUndeleted) || slices.ContainsFunc(p.postingLists[2*termIndex+1], p.hasUndeleted) {
			return false
		}
	}
	return true
}

func (p *segment) hasUndeleted(list []uint32) bool {
	return slices.ContainsFunc(list, func(posting uint32) bool { return p.kinds[posting>>8] != 0 })
}

// anyDocumentHas reports whether a document that is not deleted has a term.
func anyDocumentHas(segments []*segment, term []byte) bool {
	return slices.ContainsFunc(segments, func(p *segment) bool {
		id, ok := p.terms[string(term)]
		return ok && p.hasUndeleted(p.postings[id])
	})
}

// addRelatedPostings adds, for the misspelt question term termIndex, the postings of the synonyms of its
// correction term. It omits synonyms that are in the question.
func addRelatedPostings(segments []*segment, termIndex int, term string) {
	for _, other := range text.Synonyms(term) {
		if !slices.Contains(segments[0].questionTerms, other) {
			appendTermPostings(segments, 2*termIndex+1, other)
		}
	}
}

// appendTermPostings appends the postings of a term to postingLists[listIndex] of each segment.
func appendTermPostings(segments []*segment, listIndex int, term string) {
	for _, p := range segments {
		if id, ok := p.terms[term]; ok {
			p.postingLists[listIndex] = append(p.postingLists[listIndex], p.postings[id])
		}
	}
}
