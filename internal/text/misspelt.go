package text

import (
	"slices"
	"strings"
)

// Limits of spelling correction, in letters. Short words with one different letter are usually other words;
// words with two swapped letters hardly ever are.
const (
	minLenSwapped = 4  // minimum length of words for swapped and doubled letters
	minLenDropped = 5  // minimum length of words for a missing letter
	minLenOther   = 6  // minimum length of words for an extra or a different letter
	maxLen        = 20 // maximum length; longer words have too many variants
	endingLen     = 5  // number of last letters in which a typo may hide an ending
)

// MaxCorrectedWords is the maximum number of words of a search that are corrected. Questions have one or two
// typos, but texts in a new language have hundreds of unknown words.
const MaxCorrectedWords = 8

// SpellingCorrections returns corrections of a term from [Terms]: those that are stored, as has reports
// (meant), first of the term, else of its word's ending; or else those of the tables with a class or a stored
// synonym (tabled). has must not keep its argument.
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

// EachCorrection calls yield once for each word that differs from a term of [Terms] by one typo after the first
// letter: two swapped letters, or one missing, extra or different letter. It skips very short and very long
// terms and terms with other characters than a to z. The slice passed to yield is valid until yield returns.
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

// stemShortens reports whether stemming may shorten a word.
func stemShortens(word []byte) bool {
	switch word[len(word)-1] {
	case 's', 'y', 'e':
		return true
	case 'g', 'd', 'r', 'n', 't', 'l', 'c':
		return slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(string(word), end) })
	}
	return false
}

// endings are the endings that stemming removes, except those in -s, -y and -e.
var endings = []string{"ing", "ed", "er", "ion", "ment", "ful", "al", "ic", "ant", "ent"}

// mayBeMisspelt reports whether the length and letters of a word allow correction.
func mayBeMisspelt(w string) bool {
	return len(w) >= minLenSwapped && len(w) <= maxLen && latin(w)
}

// inTables reports whether the tables contain a term, so that its spelling is correct.
func inTables(term string) bool {
	return Related(term) != nil || ClassesOf(term)|ClassesAsked(term) != 0
}

// eachEdit yields the corrections of w for a typo at index from or later. Without other it skips rare typos.
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
		if (other || twice) && (i+1 == len(w) || w[i] != w[i+1]) { // of two equal letters, remove the second
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
