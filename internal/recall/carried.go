package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/utterance"
	"github.com/loci-memory/loci/memory"
)

// blockText returns the text of a memory in a block. The text of a user's turn has only the person's own words
// ([utterance.OwnTextOf]).
func blockText(m memory.Memory) string {
	if m.Turn != nil {
		return utterance.OwnTextOf(*m.Turn)
	}
	return m.Content()
}

// isMostlyQuoted reports whether a turn has hardly any own words, or has words of questionTerms only in quoted
// text such as a mail or code. ownText is the result of [blockText].
func isMostlyQuoted(m memory.Memory, ownText string, questionTerms terms) bool {
	if m.Turn == nil || ownText == m.Turn.Content {
		return false
	}
	ownTerms := termsOf(ownText)
	return len(ownTerms) <= maxSlightTerms || !slices.ContainsFunc(ownTerms, questionTerms.has) && slices.ContainsFunc(termsOf(m.Turn.Content), questionTerms.has)
}
