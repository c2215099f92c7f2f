package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/utterance"
	"github.com/loci-memory/loci/memory"
)

// wordsOf returns a memory's text in a block: of a user's turn the person's own words
// ([utterance.Of]).
func wordsOf(m memory.Memory) string {
	if m.Turn != nil {
		return utterance.Of(*m.Turn)
	}
	return m.Content()
}

// isMostlyQuoted reports whether a turn has next to no own words, or has the question's words only in
// quoted text such as a mail or code. own are its speaker's words ([wordsOf]).
func isMostlyQuoted(m memory.Memory, own string, asked terms) bool {
	if m.Turn == nil || own == m.Turn.Content {
		return false
	}
	ownTerms := termsOf(own)
	return len(ownTerms) <= slightTerms || !slices.ContainsFunc(ownTerms, asked.has) && slices.ContainsFunc(termsOf(m.Turn.Content), asked.has)
}
