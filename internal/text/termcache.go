package text

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// termCacheSize is the maximum number of cached words, more than a person uses in a year. A full cache takes
// about 1.5 MB.
const termCacheSize = 1 << 14

// termCache caches the terms of words. Each hash value has one slot for the latest word.
type termCache struct {
	seed  maphash.Seed
	slots [termCacheSize]atomic.Pointer[cachedTerm]
}

type cachedTerm struct{ word, term string }

var cachedTerms = &termCache{seed: maphash.MakeSeed()}

// termOf returns the cached term of a word, or the result of compute. The cache copies the word, which
// may share memory with a long text.
func (c *termCache) termOf(word string, compute func(string) string) string {
	slot := &c.slots[maphash.String(c.seed, word)%termCacheSize]
	if k := slot.Load(); k != nil && k.word == word {
		return k.term
	}
	word = strings.Clone(word)
	k := &cachedTerm{word, compute(word)}
	slot.Store(k)
	return k.term
}

// TermHashes returns a 64-bit hash of each of the [Terms] of s, stored in buffer if they fit. Hashes differ between processes.
func TermHashes(buffer []uint64, s string) []uint64 {
	out := buffer[:0]
	EachWord(s, func(w string) {
		if t := Term(w); t != "" {
			out = append(out, maphash.String(cachedTerms.seed, t))
		}
	})
	return out
}
