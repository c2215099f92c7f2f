// Package lazy has what a program knows from its first line on and makes when it is first
// needed: regular expressions, and sets of words. A few hundred of them take megabytes
// and milliseconds, which a server that waits for its first request need not spend.
// Patterns and sets that are package variables are laid out by the compiler: nothing runs
// for them at the start. All of it is safe for concurrent use.
package lazy

import (
	"strings"
	"sync"
)

// Set is a set of words, made when it is first asked.
type Set struct {
	words string
	make  func(words string) map[string]bool
	once  sync.Once
	set   map[string]bool
}

// Words returns the set of the words in a text with blanks between them.
func Words(words string) *Set { return &Set{words: words, make: fields} }

// SetOf returns the set that is made of a text.
func SetOf(words string, make func(words string) map[string]bool) *Set {
	return &Set{words: words, make: make}
}

// Has reports whether the set has a word.
func (s *Set) Has(word string) bool { return s.All()[word] }

// All returns the set's words. They are not to be changed.
func (s *Set) All() map[string]bool {
	s.once.Do(s.fill)
	return s.set
}

func (s *Set) fill() { s.set = s.make(s.words) }

func fields(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
