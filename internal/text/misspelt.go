package text

import (
	"slices"
	"strings"
)

// Limits of spelling correction. A short word with one different letter is usually another word; a word with
// two swapped letters hardly ever is.
const (
	minLenSwapped = 4  // minimum length to try swapped and doubled letters
	minLenDropped = 5  // minimum length to try a missing letter
	minLenOther   = 6  // minimum length to try an extra or a different letter
	maxLen        = 20 // longer words take too long to try
	endingLen     = 5  // how many letters at the end may contain a typo that hides an ending
)

// MaxCorrectedWords is the maximum number of words of a search that are tried as typos. A question has one or
// two, but text in a language that the owner never used has hundreds.
const MaxCorrectedWords = 8

// SpellingCorrections returns the corrections of a term from [Terms] for which has reports that it is stored.
// Without one it corrects the ending of the term's word. Without any, tabled has corrections from the tables
// that have a stored related term or a class. has must not keep its argument.
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

// WordWith returns the first word of a text that has the given term.
func WordWith(s, term string) (word string) {
	EachWord(s, func(w string) {
		if word == "" && Term(w) == term {
			word = w
		}
	})
	return word
}

// EachCorrection calls yield once for each word that differs from a term of [Terms] by one typo after the
// first letter: two swapped letters, or one missing, extra or different letter. It skips very short and very
// long terms and terms with other letters than plain Latin ones. The slice passed to yield is valid until
// yield returns.
func EachCorrection(term string, yield func(meant []byte)) {
	if mayBeMisspelt(term) && !inTables(term) {
		eachEdit(term, 0, len(term) >= minLenOther, yield)
	}
}

// EachEndingCorrection calls yield with the possible terms of a word from [Words] whose typo near the end
// prevents stemming ("paintign": "paint"). It may pass a term several times.
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

// stemShortens reports whether stemming shortens a word. If not, the word's term was already tried.
func stemShortens(word []byte) bool {
	switch word[len(word)-1] {
	case 's', 'y', 'e':
		return true
	case 'g', 'd', 'r', 'n', 't', 'l', 'c':
		return slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(string(word), end) })
	}
	return false
}

// endings are listed without the letters in which most other endings end.
var endings = []string{"ing", "ed", "er", "ion", "ment", "ful", "al", "ic", "ant", "ent"}

// mayBeMisspelt reports whether a word has a length and a script that allow correction.
func mayBeMisspelt(w string) bool {
	return len(w) >= minLenSwapped && len(w) <= maxLen && latin(w)
}

// inTables reports whether the tables contain a term, which is then spelled correctly.
func inTables(term string) bool {
	return Related(term) != nil || ClassesOf(term)|ClassesAsked(term) != 0
}

// eachEdit yields the corrections of w for a typo at index from or later. It inserts and changes letters only if other is set.
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
		if (other || twice) && (i+1 == len(w) || w[i] != w[i+1]) { // of two equal letters, the second
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
				continue // a duplicate of the next letter, or the word is too short for anything but a doubled letter
			}
			yield(meant)
		}
	}
}
