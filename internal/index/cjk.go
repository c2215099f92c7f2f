package index

import (
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/text"
)

// Text in scripts without spaces is indexed by pairs of characters. A single character ("茶") is
// found by the pairs that contain it ("绿茶"), if it is the whole question or no memory contains it
// as a word.

// bigrams are the terms that begin with a character and the terms that end with it. A term of a
// single character is in both lists.
type bigrams struct{ startingWith, endingWith []int32 }

// indexCharacters records the first and last characters of a new term, if its script has no spaces.
func (s *contents) indexCharacters(term string, id int32) {
	if term == "" || term[0] < utf8.RuneSelf {
		return
	}
	first, _ := utf8.DecodeRuneInString(term)
	last, _ := utf8.DecodeLastRuneInString(term)
	if !text.IsUnspacedScript(first) {
		return
	}
	of := func(r rune) *bigrams {
		if s.termsByCharacter == nil {
			s.termsByCharacter = map[rune]*bigrams{}
		}
		if s.termsByCharacter[r] == nil {
			s.termsByCharacter[r] = &bigrams{}
		}
		return s.termsByCharacter[r]
	}
	of(first).startingWith = append(of(first).startingWith, id)
	of(last).endingWith = append(of(last).endingWith, id)
}

// addCharacterPostings adds to single-character terms the postings of words that contain the
// character.
func addCharacterPostings(parts []*segment, question string, terms []string) {
	for i, t := range terms {
		if text.IsUnspacedCharacter(t) && (text.HasIsolatedCharacter(question, t) || noDocumentHas(parts, i)) {
			for _, p := range parts {
				if list := p.postingsContaining(t); list != nil {
					p.postingLists[2*i] = [][]uint32{list}
				}
			}
		}
	}
}

// postingsContaining returns the postings of the documents that contain a character. Pairs overlap, so it
// counts either the words that begin with the character or those that end with it, whichever are
// more frequent.
func (p *segment) postingsContaining(character string) []uint32 {
	r, _ := utf8.DecodeRuneInString(character)
	of := p.termsByCharacter[r]
	if of == nil {
		return nil
	}
	begin, end := p.termCounts(of.startingWith), p.termCounts(of.endingWith)
	var out []uint32
	for n := range begin {
		if count := max(begin[n], end[n]); count > 0 {
			out = append(out, uint32(n)<<8|uint32(count))
		}
	}
	return out
}

// termCounts returns how often each document contains any of the terms, in thirds.
func (p *segment) termCounts(terms []int32) []uint8 {
	counts := make([]uint8, len(p.docs))
	for _, id := range terms {
		for _, posting := range p.postings[id] {
			counts[posting>>8] = uint8(min(maxCount, uint32(counts[posting>>8])+posting&maxCount)) //nolint:gosec // it fits
		}
	}
	return counts
}
