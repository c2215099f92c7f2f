package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/text"
)

// terms is the set of a text's terms, as sorted hashes: comparing numbers is all
// that comparing texts takes then. Two terms of one hash would count as the same,
// which no talk is long enough to see.
type terms []uint64

func termsOf(s string) terms {
	set := make(terms, 0, len(s)/6)
	text.EachWord(s, func(w string) {
		if t := text.Term(w); t != "" {
			set = append(set, hash(t))
		}
	})
	slices.Sort(set)
	return slices.Compact(set)
}

// hash is FNV-1a of 64 bits.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

func (t terms) has(term uint64) bool {
	_, found := slices.BinarySearch(t, term)
	return found
}

// overlap is the share of all their terms that two sets have in common.
func (t terms) overlap(other terms) float64 {
	common := 0
	for i, j := 0, 0; i < len(t) && j < len(other); {
		switch {
		case t[i] < other[j]:
			i++
		case t[i] > other[j]:
			j++
		default:
			common++
			i++
			j++
		}
	}
	if common == 0 {
		return 0
	}
	return float64(common) / float64(len(t)+len(other)-common)
}
