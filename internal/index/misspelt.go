package index

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// mostTried bounds the words of a search that are tried as misspelt: a question has one or
// two; text in a language that an owner has nothing in has hundreds.
const mostTried = 8

// correct looks for words of the question that no part has as misspelt: what is one slip away
// among the owners' own words is taken as the question's, or else what is so in the tables of
// synonyms and classes. It returns what was taken for what, and costs nothing where all words are known.
func correct(parts []*part, asked string, terms []string) (taken []memory.Misspelt) {
	tried := 0
	for i, t := range terms {
		if tried < mostTried && nobodyHas(parts, i) {
			if meant := correctTerm(parts, i, asked, t); len(meant) > 0 {
				taken = append(taken, memory.Misspelt{Word: wordOf(asked, t), Meant: meant})
			}
			tried++
		}
	}
	return taken
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

// correctTerm gives the question's term i the postings of what it may be meant to be, which it
// returns: by its stem, and if nobody has such, by the ending of its word. Where nobody has either,
// the same is looked for in the tables.
func correctTerm(parts []*part, i int, asked, term string) (meant []string) {
	var tabled []string
	try := func(m string) {
		switch {
		case slices.Contains(meant, m) || slices.Contains(tabled, m):
		case take(parts, 2*i, m):
			meant = append(meant, strings.Clone(m))
		case text.Related(m) != nil || text.ClassesAsked(m) != 0:
			tabled = append(tabled, strings.Clone(m))
		}
	}
	text.EachMeant(term, func(m []byte) { try(string(m)) })
	if meant == nil {
		text.EachMeantEnding(wordOf(asked, term), try)
	}
	if meant != nil {
		return meant
	}
	return slices.DeleteFunc(tabled, func(m string) bool { return !takeRelated(parts, i, m) && text.ClassesAsked(m) == 0 })
}

// takeRelated adds the postings of what is related to a word that nobody has, but for what is asked
// itself, to those of what is related to the question's term i.
func takeRelated(parts []*part, i int, term string) (has bool) {
	for _, other := range text.Related(term) {
		if !slices.Contains(parts[0].asked, other) && take(parts, 2*i+1, other) {
			has = true
		}
	}
	return has
}

// take adds the postings of a term that somebody living has to those of list i.
func take(parts []*part, i int, term string) (has bool) {
	for _, p := range parts {
		if id, ok := p.terms[term]; ok && p.lives(p.posts[id]) {
			p.lists[i], has = append(p.lists[i], p.posts[id]), true
		}
	}
	return has
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
