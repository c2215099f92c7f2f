package text

import "hash/maphash"

// TermHashes returns a hash of each of the [Terms] of s: what comparing texts takes. They
// are put where room has place for them. Two terms of one hash count as the same, which
// among 2⁶⁴ no talk is long enough to see. Another process has other hashes.
func TermHashes(room []uint64, s string) []uint64 {
	out := room[:0]
	EachWord(s, func(w string) {
		if t := Term(w); t != "" {
			out = append(out, maphash.String(terms.seed, t))
		}
	})
	return out
}
