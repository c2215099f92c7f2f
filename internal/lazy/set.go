// Package lazy provides regular expressions and word sets that are built on first use. They are for
// package variables: building a few hundred of them at the program's start would cost megabytes and
// milliseconds. All methods are safe for concurrent use.
package lazy

import (
	"strings"
	"sync"
)

// Set is a set of words that is built on first use.
type Set struct {
	words string
	build func(words string) map[string]bool
	once  sync.Once
	set   map[string]bool
}

// Words returns a set of the words in a space-separated list.
func Words(words string) *Set { return &Set{words: words, build: wordSet} }

// SetOf returns a set whose first use calls build with words to get the set's words.
func SetOf(words string, build func(words string) map[string]bool) *Set {
	return &Set{words: words, build: build}
}

// Has reports whether the set contains the word.
func (s *Set) Has(word string) bool { return s.All()[word] }

// All returns the words of the set. Callers must not modify the map.
func (s *Set) All() map[string]bool {
	s.once.Do(s.buildSet)
	return s.set
}

func (s *Set) buildSet() { s.set = s.build(s.words) }

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
