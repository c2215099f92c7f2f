package index

import (
	"slices"

	"github.com/loci-memory/loci/internal/text"
)

// mostTried bounds the words of a search that are tried as misspelt: a question has one or
// two; text in a language that an owner has nothing in has hundreds.
const mostTried = 8

// correct looks for words of the question that no part has as misspelt: what is one slip away
// among the owners' own words is taken as the question's. It costs nothing where all words are known.
func correct(parts []*part, asked string, terms []string) {
	tried := 0
	for i, t := range terms {
		if tried < mostTried && nobodyHas(parts, i) {
			correctTerm(parts, i, asked, t)
			tried++
		}
	}
}

// nobodyHas reports whether no part has anything living for the question's term i, nor for what
// is related to it. What is only an excerpt cannot know.
func nobodyHas(parts []*part, i int) bool {
	for _, p := range parts {
		if p.whole != nil || slices.ContainsFunc(p.lists[2*i], p.lives) || slices.ContainsFunc(p.lists[2*i+1], p.lives) {
			return false
		}
	}
	return true
}

// lives reports whether a document that is not forgotten is in a list of postings.
func (p *part) lives(list []uint32) bool {
	return slices.ContainsFunc(list, func(posting uint32) bool { return p.kinds[posting>>8] != 0 })
}

// correctTerm gives the question's term i the postings of what it may be meant to be, by its
// stem, and if nobody has such, by the ending of its word.
func correctTerm(parts []*part, i int, asked, term string) {
	found := false
	text.EachMeant(term, func(meant []byte) {
		for _, p := range parts {
			if id, ok := p.terms[string(meant)]; ok && p.lives(p.posts[id]) {
				p.lists[2*i], found = append(p.lists[2*i], p.posts[id]), true
			}
		}
	})
	if found {
		return
	}
	var tried []string
	text.EachMeantEnding(wordOf(asked, term), func(meant string) {
		if slices.Contains(tried, meant) {
			return
		}
		for _, p := range parts {
			if id, ok := p.terms[meant]; ok && p.lives(p.posts[id]) {
				p.lists[2*i] = append(p.lists[2*i], p.posts[id])
				tried = append(tried, meant)
			}
		}
	})
}

// wordOf returns the first word of a text that has a term.
func wordOf(s, term string) (word string) {
	text.EachWord(s, func(w string) {
		if word == "" && text.Term(w) == term {
			word = w
		}
	})
	return word
}
