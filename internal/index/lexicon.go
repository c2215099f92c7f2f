package index

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// word is what the index knows of a word: its term, "" for a stop word, and what it
// shows.
type word struct {
	word, term string
	marks      memory.Marks
	classes    text.Classes
}

// knownWords is how many words are remembered: more than people use in a year of talk,
// in some 2 MB when full.
const knownWords = 1 << 14

// lexicon remembers what words are, whoever said them, each in the one place its hash
// gives it: the word that came last stays. All of it depends on the word alone, so that
// what is forgotten only costs time.
type lexicon struct {
	seed  maphash.Seed
	known [knownWords]atomic.Pointer[word]
}

var dictionary = &lexicon{seed: maphash.MakeSeed()}

// of returns what is known of a word, which may be part of a text.
func (l *lexicon) of(w string) *word {
	place := &l.known[maphash.String(l.seed, w)%knownWords]
	if k := place.Load(); k != nil && k.word == w {
		return k
	}
	k := newWord(strings.Clone(w))
	place.Store(k)
	return k
}

func newWord(w string) *word {
	k := &word{word: w, term: text.Term(w)}
	if k.term != "" {
		k.classes = text.ClassesOf(k.term)
	}
	if text.IsTime(w) {
		k.marks |= memory.MarkTimes
	}
	if text.IsNumber(w) {
		k.marks |= memory.MarkNumbers
	}
	return k
}
