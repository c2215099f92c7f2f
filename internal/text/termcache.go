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
