package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/text"
)

// terms is a set of terms as sorted 64-bit hashes.
type terms []uint64

func termsOf(s string) terms { return termsInBuffer(make(terms, 0, len(s)/6), s) }

// termsInBuffer returns the terms of a text, stored in buffer if they fit.
func termsInBuffer(buffer terms, s string) terms {
	set := text.TermHashes(buffer, s)
	slices.Sort(set)
	return slices.Compact(set)
}

func (t terms) has(term uint64) bool {
	_, found := slices.BinarySearch(t, term)
	return found
}

// overlap returns the number of common terms divided by the number of all terms.
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
