package text

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// knownTerms is how many words' terms are remembered: more than people use in a
// year of talk, in some 1.5 MB when full.
const knownTerms = 1 << 14

// termCache remembers the terms of words, each in the one place its hash gives it:
// the word that came last stays. A term depends on its word alone, so that what is
// forgotten only costs time.
type termCache struct {
	seed  maphash.Seed
	known [knownTerms]atomic.Pointer[knownTerm]
}

type knownTerm struct{ word, term string }

var terms = &termCache{seed: maphash.MakeSeed()}

// term returns what made makes of the word. The word may be part of a text; what
// is kept is a copy.
func (c *termCache) term(word string, made func(string) string) string {
	place := &c.known[maphash.String(c.seed, word)%knownTerms]
	if k := place.Load(); k != nil && k.word == word {
		return k.term
	}
	word = strings.Clone(word)
	k := &knownTerm{word, made(word)}
	place.Store(k)
	return k.term
}

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
