package text

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"

	"github.com/loci-memory/loci/internal/lazy"
)

//go:embed tables/stop.txt
var stopTable string

//go:embed tables/irregular.txt
var irregularTable string

// stopWords are words without meaning for searches.
var stopWords = lazy.Words(stopTable)

// irregular maps irregular forms to their base form: "went" to "go".
var irregular = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(irregularTable) {
		forms := strings.Fields(line)
		for i := 1; i < len(forms); i++ {
			m[forms[i]] = forms[0]
		}
	}
	return m
})

// Terms returns the search terms of s: the stems of its [Words], without stop words.
func Terms(s string) []string {
	out := make([]string, 0, len(s)/8)
	EachWord(s, func(w string) {
		if t := Term(w); t != "" {
			out = append(out, t)
		}
	})
	return out
}

// Term returns the term of a word from [Words], or "" for a stop word.
func Term(word string) string {
	if !isLatinLetters(word) {
		return computeTerm(word) // there are too many different numbers and other words to cache
	}
	return cachedTerms.termOf(word, computeTerm)
}

func computeTerm(word string) string {
	if stopWords.Has(word) {
		return ""
	}
	if base, ok := irregular()[word]; ok {
		word = base
	}
	if !canStem(word) {
		return word
	}
	env := stemmers.Get().(*snowballstem.Env)
	defer stemmers.Put(env)
	env.SetCurrent(word)
	english.Stem(env)
	return env.Current()
}

var stemmers = sync.Pool{New: func() any { return snowballstem.NewEnv("") }}

// canStem reports whether a word has only plain Latin letters. English stemming requires that.
func canStem(word string) bool { return len(word) > 2 && isLatinLetters(word) }

func isLatinLetters(word string) bool {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return true
}
