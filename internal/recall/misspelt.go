package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Misspelt returns what a search took words of its question for: nil where it knew all.
func Misspelt(candidates []memory.Candidate) []memory.Misspelt {
	for i := range candidates {
		if m := candidates[i].Misspelt; m != nil {
			return m
		}
	}
	return nil
}

// readMisspelt finds in what misspelt words are taken for what a question asks for.
func (q *asked) readMisspelt(taken []memory.Misspelt) {
	q.meant = taken
	for _, m := range taken {
		for _, term := range m.Meant {
			if q.owns = q.owns || text.IsPerson(term); q.prompt > 0 {
				q.classes |= text.ClassesAsked(term)
			}
		}
	}
}

// means reports whether a misspelt word is taken for a term.
func (q *asked) means(term string) bool {
	return slices.ContainsFunc(q.meant, func(m memory.Misspelt) bool { return slices.Contains(m.Meant, term) })
}

// Spelt returns what misspelt words were taken for as words of the hits, and else of the
// tables of synonyms and classes. What is in neither is left out: it found none of the hits.
func Spelt(taken []memory.Misspelt, hits []memory.Hit) (out []memory.Misspelt) {
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

// wordIn returns the first word of the hits that has a term, their speakers' names included.
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
