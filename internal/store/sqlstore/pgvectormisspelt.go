package sqlstore

import (
	"maps"
	"slices"

	"github.com/loci-memory/loci/internal/text"
)

// correct takes words of the question that nothing has for what they may be meant to be, and returns
// the terms that are to be looked for, with their weights: all that may be are looked up at once.
func (n *nearing) correct(question string, asked []string, weights map[string]float64) (words []word, err error) {
	whole := &n.found.Whole
	has := func(term string) bool { return whole.Terms[term] > 0 }
	found := func(term []byte) bool { return whole.Terms[string(term)] > 0 }
	var misspelt []string
	maybe := map[string]bool{}
	for _, t := range asked {
		if len(misspelt) == text.MostTried || slices.Contains(misspelt, t) || has(t) || slices.ContainsFunc(text.Related(t), has) {
			continue
		}
		misspelt = append(misspelt, t)
		text.Meant(question, t, func(m []byte) bool {
			if !found(m) { // else it is asked for itself, and looked for already
				maybe[string(m)] = true
			}
			return false
		})
	}
	if len(maybe) == 0 {
		return nil, nil
	}
	var there []word
	if err := n.together(n.askTerms(slices.Sorted(maps.Keys(maybe)), &there)); err != nil {
		return nil, err
	}
	whole.Meant, whole.Tabled = map[string][]string{}, map[string][]string{}
	for _, t := range misspelt {
		meant, tabled := text.Meant(question, t, found)
		whole.Meant[t], whole.Tabled[t] = meant, tabled
		for _, m := range meant {
			weights[m] = 1
		}
		for _, m := range tabled {
			for _, other := range text.Related(m) {
				weights[other] = max(weights[other], relatedWeight)
			}
		}
	}
	return slices.DeleteFunc(there, func(w word) bool { return weights[w.term] == 0 }), nil
}
