package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/utterance"
	"github.com/loci-memory/loci/memory"
)

// wordsOf returns the text of a memory in a block. For a user's turn, it has only the person's own words
// ([utterance.Of]).
func wordsOf(m memory.Memory) string {
	if m.Turn != nil {
		return utterance.Of(*m.Turn)
	}
	return m.Content()
}

// isMostlyQuoted reports whether a turn has hardly any own words, or has the question's words (asked) only in
// quoted text such as a mail or code. own is the result of [wordsOf].
func isMostlyQuoted(m memory.Memory, own string, asked terms) bool {
	if m.Turn == nil || own == m.Turn.Content {
		return false
	}
	ownTerms := termsOf(own)
	return len(ownTerms) <= slightTerms || !slices.ContainsFunc(ownTerms, asked.has) && slices.ContainsFunc(termsOf(m.Turn.Content), asked.has)
}
