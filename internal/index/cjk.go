package index

import (
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/text"
)

// Text in scripts without spaces is indexed by pairs of characters. A single character ("茶") is
// found by the pairs that contain it ("绿茶"), if it is the whole question or no memory contains it
// as a word.

// characterTerms are the numbers of the terms that begin with a character and of those that end with
// it. A term of a single character is in both lists.
type characterTerms struct{ startingWith, endingWith []int32 }

// indexCharacters adds a new term to the lists of its first and last character in termsByCharacter,
// if its script has no spaces.
func (s *contents) indexCharacters(term string, id int32) {
	if term == "" || term[0] < utf8.RuneSelf {
		return
	}
	first, _ := utf8.DecodeRuneInString(term)
	last, _ := utf8.DecodeLastRuneInString(term)
	if !text.IsUnspacedScript(first) {
		return
	}
	termsOf := func(r rune) *characterTerms {
		if s.termsByCharacter == nil {
			s.termsByCharacter = map[rune]*characterTerms{}
		}
		if s.termsByCharacter[r] == nil {
			s.termsByCharacter[r] = &characterTerms{}
		}
		return s.termsByCharacter[r]
	}
	termsOf(first).startingWith = append(termsOf(first).startingWith, id)
	termsOf(last).endingWith = append(termsOf(last).endingWith, id)
}

// addCharacterPostings replaces the postings of a single-character term by those of all words that contain
// the character, if it is the whole question or no memory has it as a word.
func addCharacterPostings(segments []*segment, question string, terms []string) {
	for i, t := range terms {
		if text.IsUnspacedCharacter(t) && (text.HasIsolatedCharacter(question, t) || noDocumentHas(segments, i)) {
			for _, p := range segments {
				if list := p.postingsContaining(t); list != nil {
					p.postingLists[2*i] = [][]uint32{list}
				}
			}
		}
	}
}

// postingsContaining returns a posting for each document that contains a character. Each occurrence
// usually begins one pair and ends another, so the count is the larger of the two numbers of pairs.
func (p *segment) postingsContaining(character string) []uint32 {
	r, _ := utf8.DecodeRuneInString(character)
	terms := p.termsByCharacter[r]
	if terms == nil {
		return nil
	}
	begin, end := p.termCounts(terms.startingWith), p.termCounts(terms.endingWith)
	var out []uint32
	for n := range begin {
		if count := max(begin[n], end[n]); count > 0 {
			out = append(out, uint32(n)<<8|uint32(count))
		}
	}
	return out
}

// termCounts returns, by document, the sum of the terms' counts in thirds of an occurrence, at most maxCount.
func (p *segment) termCounts(terms []int32) []uint8 {
	counts := make([]uint8, len(p.docs))
	for _, id := range terms {
		for _, posting := range p.postings[id] {
			counts[posting>>8] = uint8(min(maxCount, uint32(counts[posting>>8])+posting&maxCount)) //nolint:gosec // it fits
		}
	}
	return counts
}
