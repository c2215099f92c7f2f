package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/utterance"
	"github.com/loci-memory/loci/memory"
)

// wordsOf returns what a memory says in a block: of a user's turn what the person wrote
// ([utterance.Of]).
func wordsOf(m memory.Memory) string {
	if m.Turn != nil {
		return utterance.Of(*m.Turn)
	}
	return m.Content()
}

// carries reports whether a turn, of which these words ([wordsOf]) are its speaker's, has next to none of
// them, or has words of the question only in what it hands on: a mail, code, a passage to translate.
func carries(m memory.Memory, own string, asked terms) bool {
	if m.Turn == nil || own == m.Turn.Content {
		return false
	}
	said := termsOf(own)
	return len(said) <= slightTerms || !slices.ContainsFunc(said, asked.has) && slices.ContainsFunc(termsOf(m.Turn.Content), asked.has)
}
