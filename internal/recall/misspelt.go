package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// CorrectionsOf returns the search's corrections of words in the question, or nil.
func CorrectionsOf(candidates []memory.Candidate) []memory.Misspelt {
	for i := range candidates {
		if m := candidates[i].Misspelt; m != nil {
			return m
		}
	}
	return nil
}

// readMisspelt sets the question's fields that depend on corrections of misspelt words.
func (q *scoredQuery) readMisspelt(taken []memory.Misspelt) {
	q.meant = taken
	for _, m := range taken {
		for _, term := range m.Meant {
			if q.aboutPeople = q.aboutPeople || text.IsPerson(term); q.prompt > 0 {
				q.classes |= text.ClassesAsked(term)
			}
		}
	}
}

// means reports whether a misspelt word was corrected to a term.
func (q *scoredQuery) means(term string) bool {
	return slices.ContainsFunc(q.meant, func(m memory.Misspelt) bool { return slices.Contains(m.Meant, term) })
}

// ShownCorrections returns the corrections with whole words instead of stems, from the hits or else from the
// tables of synonyms and classes. It omits corrections without such a word.
func ShownCorrections(taken []memory.Misspelt, hits []memory.Hit) (out []memory.Misspelt) {
	for _, m := range taken {
		var words []string
		for _, term := range m.Meant {
			if word := wordIn(hits, term); word != "" {
				words = append(words, word)
			} else if word := text.WordOf(term); word != "" {
				words = append(words, word)
			}
		}
		if words != nil {
			out = append(out, memory.Misspelt{Word: m.Word, Meant: words})
		}
	}
	return out
}

// wordIn returns the first word in the hits, or in their speakers' names, that has the given term.
func wordIn(hits []memory.Hit, term string) string {
	for _, h := range hits {
		if word := text.WordWith(h.Memory.Content(), term); word != "" {
			return word
		}
		if h.Memory.Turn == nil {
			continue
		}
		if word := text.WordWith(h.Memory.Turn.Name, term); word != "" {
			return word
		}
	}
	return ""
}
