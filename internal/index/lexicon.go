package index

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// word is a cached word with its term ("" for a stop word) and its properties.
type word struct {
	word, term string
	flags      memory.TextFlags
	classes    text.Classes
}

// lexiconSize is the maximum number of cached words, more than the chats of a year contain. They take
// about 2 MB.
const lexiconSize = 1 << 14

// lexicon caches words of all owners, each in the slot of its hash. A new word replaces the old word
// in its slot, which costs only the time to derive the old word's properties again.
type lexicon struct {
	seed  maphash.Seed
	slots [lexiconSize]atomic.Pointer[word]
}

var sharedLexicon = &lexicon{seed: maphash.MakeSeed()}

// wordFor returns the entry of w, and adds it if missing. The entry holds a copy of w, which may be a
// substring of a long text.
func (l *lexicon) wordFor(w string) *word {
	slot := &l.slots[maphash.String(l.seed, w)%lexiconSize]
	if k := slot.Load(); k != nil && k.word == w {
		return k
	}
	k := newWord(strings.Clone(w))
	slot.Store(k)
	return k
}

func newWord(w string) *word {
	k := &word{word: w, term: text.Term(w)}
	if k.term != "" {
		k.classes = text.ClassesOf(k.term)
	}
	if text.IsTimeWord(w) {
		k.flags |= memory.FlagTime
	}
	if text.IsNumberWord(w) {
		k.flags |= memory.FlagNumber
	}
	return k
}
