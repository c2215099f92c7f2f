package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Corrections returns the search's corrections of words in the question, or nil.
func Corrections(candidates []memory.Candidate) []memory.Misspelt {
	for i := range candidates {
		if m := candidates[i].Misspelt; m != nil {
			return m
		}
	}
	return nil
}

// setCorrections sets the question's fields that depend on corrections of misspelt words.
func (q *scoredQuery) setCorrections(corrections []memory.Misspelt) {
	q.corrections = corrections
	for _, m := range corrections {
		for _, term := range m.Meant {
			if q.isAboutPeople = q.isAboutPeople || text.IsPersonTerm(term); q.shortness > 0 {
				q.askedClasses |= text.ClassesNamed(term)
			}
		}
	}
}

// wasCorrectedTo reports whether a misspelt word was corrected to a term.
func (q *scoredQuery) wasCorrectedTo(term string) bool {
	return slices.ContainsFunc(q.corrections, func(m memory.Misspelt) bool { return slices.Contains(m.Meant, term) })
}

// WholeWordCorrections returns the corrections with whole words instead of stems, from the hits or else from the
// tables of synonyms and classes. It omits corrections without such a word.
func WholeWordCorrections(corrections []memory.Misspelt, hits []memory.Hit) (out []memory.Misspelt) {
	for _, m := range corrections {
		var words []string
		for _, term := range m.Meant {
			if word := hitWord(hits, term); word != "" {
				words = append(words, word)
			} else if word := text.TableWord(term); word != "" {
				words = append(words, word)
			}
		}
		if words != nil {
			out = append(out, memory.Misspelt{Word: m.Word, Meant: words})
		}
	}
	return out
}

// hitWord returns the first word in the hits, or in their speakers' names, that has the given term.
func hitWord(hits []memory.Hit, term string) string {
	for _, h := range hits {
		if word := text.FirstWordWithTerm(h.Memory.Content(), term); word != "" {
			return word
		}
		if h.Memory.Turn == nil {
			continue
		}
		if word := text.FirstWordWithTerm(h.Memory.Turn.Name, term); word != "" {
			return word
		}
	}
	return ""
}
