package text

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// termCacheSize is the size of the cache: more words than people use in a year, in some 1.5 MB when
// full.
const termCacheSize = 1 << 14

// termCache caches the terms of words. Each hash has one slot, which keeps the latest word.
type termCache struct {
	seed  maphash.Seed
	slots [termCacheSize]atomic.Pointer[cachedTerm]
}

type cachedTerm struct{ word, term string }

var terms = &termCache{seed: maphash.MakeSeed()}

// term returns the term of a word, which made computes if it is not cached. The cache copies the
// word, which may be part of a text.
func (c *termCache) term(word string, made func(string) string) string {
	place := &c.slots[maphash.String(c.seed, word)%termCacheSize]
	if k := place.Load(); k != nil && k.word == word {
		return k.term
	}
	word = strings.Clone(word)
	k := &cachedTerm{word, made(word)}
	place.Store(k)
	return k.term
}

// TermHashes returns a hash of each of the [Terms] of s, appended to room if it has capacity.
// Hashes differ between processes, and collisions of 64 bits are neglected.
func TermHashes(room []uint64, s string) []uint64 {
	out := room[:0]
	EachWord(s, func(w string) {
		if t := Term(w); t != "" {
			out = append(out, maphash.String(terms.seed, t))
		}
	})
	return out
}
