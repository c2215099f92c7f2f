package text

import (
	"slices"
	"strings"
)

// Bounds of spelling correction. A short word with one other letter is usually another word, while
// a swap of letters hardly ever makes one.
const (
	minLenSwapped = 4  // letters of a word with two letters swapped, or one doubled or not
	minLenDropped = 5  // of a word with one letter missing
	minLenOther   = 6  // of a word with one letter too many, or another one
	maxLen        = 20 // longer words take too much time to try
	endingLen     = 5  // letters in which a slip may hide an ending
)

// MaxCorrectedWords bounds the words of a search that are tried as misspelt: a question has one or two, but
// text in a language that the owner never used has hundreds.
const MaxCorrectedWords = 8

// SpellingCorrections returns the corrections of a term of [Terms] that has reports as stored: by its stem, or
// else by the ending of its word. Without any, tabled are corrections from the tables with a stored
// related term or a class. has must not keep its argument.
func SpellingCorrections(s, term string, has func(term []byte) bool) (meant, tabled []string) {
	try := func(m []byte) {
		switch {
		case slices.Contains(meant, string(m)) || slices.Contains(tabled, string(m)):
		case has(m):
			meant = append(meant, string(m))
		case Related(string(m)) != nil || ClassesAsked(string(m)) != 0:
			tabled = append(tabled, string(m))
		}
	}
	EachCorrection(term, try)
	if meant == nil {
		var room []byte
		EachEndingCorrection(WordWith(s, term), func(m string) {
			room = append(room[:0], m...)
			try(room)
		})
	}
	if meant != nil {
		return meant, nil
	}
	return nil, slices.DeleteFunc(tabled, func(m string) bool {
		return ClassesAsked(m) == 0 && !slices.ContainsFunc(Related(m), func(other string) bool { return has([]byte(other)) })
	})
}

// WordWith returns the first word of a text that has a term.
func WordWith(s, term string) (word string) {
	EachWord(s, func(w string) {
		if word == "" && Term(w) == term {
			word = w
		}
	})
	return word
}

// EachCorrection calls yield, once each, with the words one slip away from a term of [Terms]: two
// swapped letters, or one missing, extra or different letter, after the first. It skips very short
// and long terms and those with other than plain Latin letters. The slice is valid until yield
// returns.
func EachCorrection(term string, yield func(meant []byte)) {
	if mayBeMisspelt(term) && !inTables(term) {
		eachEdit(term, 0, len(term) >= minLenOther, yield)
	}
}

// EachEndingCorrection calls yield with the terms of a word of [Words] if a slip near its end prevents
// stemming ("paintign": "paint"). A term may come several times.
func EachEndingCorrection(word string, yield func(term string)) {
	if len(word) > minLenSwapped && mayBeMisspelt(word) && !inTables(Term(word)) {
		eachEdit(word, max(0, len(word)-endingLen), false, func(meant []byte) {
			if !stemShortens(meant) {
				return
			}
			if t := termOf(string(meant)); t != "" {
				yield(t)
			}
		})
	}
}

// stemShortens reports whether stemming shortens a word: otherwise its term was already tried.
func stemShortens(word []byte) bool {
	switch word[len(word)-1] {
	case 's', 'y', 'e':
		return true
	case 'g', 'd', 'r', 'n', 't', 'l', 'c':
		return slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(string(word), end) })
	}
	return false
}

// endings are listed without the letters that most of the others end in.
var endings = []string{"ing", "ed", "er", "ion", "ment", "ful", "al", "ic", "ant", "ent"}

// mayBeMisspelt reports whether a word's length and script allow correction.
func mayBeMisspelt(w string) bool {
	return len(w) >= minLenSwapped && len(w) <= maxLen && latin(w)
}

// inTables reports whether the tables have a term, which is then spelt correctly.
func inTables(term string) bool {
	return Related(term) != nil || ClassesOf(term)|ClassesAsked(term) != 0
}

// eachEdit yields the corrections of w for a slip at from or later, with any letter only if other.
func eachEdit(w string, from int, other bool, yield func(meant []byte)) {
	var room [maxLen + 1]byte
	for i := from; i+1 < len(w); i++ {
		if w[i] != w[i+1] {
			meant := room[:copy(room[:], w)]
			meant[i], meant[i+1] = w[i+1], w[i]
			yield(meant)
		}
	}
	for i := max(1, from); i < len(w); i++ {
		twice := w[i] == w[i-1]
		if (other || twice) && (i+1 == len(w) || w[i] != w[i+1]) { // of a double letter, the second
			n := copy(room[:], w[:i])
			yield(room[:n+copy(room[n:], w[i+1:])])
		}
		if other {
			meant := room[:copy(room[:], w)]
			for c := byte('a'); c <= 'z'; c++ {
				if meant[i] = c; c != w[i] {
					yield(meant)
				}
			}
		}
	}
	for i := max(1, from); i <= len(w); i++ {
		meant := room[:len(w)+1]
		copy(meant, w[:i])
		copy(meant[i+1:], w[i:])
		for c := byte('a'); c <= 'z'; c++ {
			if meant[i] = c; i < len(w) && c == w[i] || len(w) < minLenDropped && c != w[i-1] {
				continue // a duplicate of the next letter, or too short for more than a double letter
			}
			yield(meant)
		}
	}
}
