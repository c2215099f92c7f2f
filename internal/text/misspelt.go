package text

import (
	"slices"
	"strings"
)

// Limits of spelling correction, in letters. Short words with one different letter are usually other words;
// words with two swapped letters hardly ever are.
const (
	minLenForSwap    = 4  // minimum length of words corrected for swapped and doubled letters
	minLenForMissing = 5  // minimum length of words that get a missing letter
	minLenForOther   = 6  // minimum length of words corrected for an extra or a different letter
	maxCorrectedLen  = 20 // maximum length; longer words have too many variants
	endingLetters    = 5  // number of last letters in which a typo may hide an ending
)

// MaxCorrectedWords is the maximum number of words of a search that are corrected. Questions have one or two
// typos, but texts in a new language have hundreds of unknown words.
const MaxCorrectedWords = 8

// SpellingCorrections returns corrections of a term of s: of the whole term or, if none is stored, of its word's
// ending. stored has the corrections that isStored accepts. If stored is empty, isTableTerm has the corrections to which
// the tables of this package give a class or a stored synonym. isStored must not keep its argument.
func SpellingCorrections(s, term string, isStored func(term []byte) bool) (stored, inTables []string) {
	addIfKnown := func(m []byte) {
		switch {
		case slices.Contains(stored, string(m)) || slices.Contains(inTables, string(m)):
		case isStored(m):
			stored = append(stored, string(m))
		case Synonyms(string(m)) != nil || ClassesNamed(string(m)) != 0:
			inTables = append(inTables, string(m))
		}
	}
	EachCorrection(term, addIfKnown)
	if stored == nil {
		var buffer []byte
		EachEndingCorrection(FirstWordWithTerm(s, term), func(m string) {
			buffer = append(buffer[:0], m...)
			addIfKnown(buffer)
		})
	}
	if stored != nil {
		return stored, nil
	}
	return nil, slices.DeleteFunc(inTables, func(m string) bool {
		return ClassesNamed(m) == 0 && !slices.ContainsFunc(Synonyms(m), func(other string) bool { return isStored([]byte(other)) })
	})
}

// FirstWordWithTerm returns the first word of a text that has the given term.
func FirstWordWithTerm(s, term string) (word string) {
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
func EachCorrection(term string, yield func(correction []byte)) {
	if mayBeMisspelt(term) && !isTableTerm(term) {
		eachEdit(term, 0, len(term) >= minLenForOther, yield)
	}
}

// EachEndingCorrection calls yield with the possible terms of a word from [Words] whose typo near the end
// prevents stemming ("paintign": "paint"). It may pass a term several times.
func EachEndingCorrection(word string, yield func(term string)) {
	if len(word) > minLenForSwap && mayBeMisspelt(word) && !isTableTerm(Term(word)) {
		eachEdit(word, max(0, len(word)-endingLetters), false, func(corrected []byte) {
			if !stemShortens(corrected) {
				return
			}
			if t := computeTerm(string(corrected)); t != "" {
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
		return slices.ContainsFunc(stemEndings, func(end string) bool { return strings.HasSuffix(string(word), end) })
	}
	return false
}

// stemEndings are the endings that stemming removes, except those in -s, -y and -e.
var stemEndings = []string{"ing", "ed", "er", "ion", "ment", "ful", "al", "ic", "ant", "ent"}

// mayBeMisspelt reports whether the length and letters of a word allow correction.
func mayBeMisspelt(w string) bool {
	return len(w) >= minLenForSwap && len(w) <= maxCorrectedLen && isLatinLetters(w)
}

// isTableTerm reports whether the tables contain a term, so that its spelling is correct.
func isTableTerm(term string) bool {
	return Synonyms(term) != nil || ClassesOf(term)|ClassesNamed(term) != 0
}

// eachEdit yields the corrections of word for a typo at index from or later. Only allEdits includes rare typos.
func eachEdit(word string, from int, allEdits bool, yield func(correction []byte)) {
	var buffer [maxCorrectedLen + 1]byte
	for i := from; i+1 < len(word); i++ {
		if word[i] != word[i+1] {
			correction := buffer[:copy(buffer[:], word)]
			correction[i], correction[i+1] = word[i+1], word[i]
			yield(correction)
		}
	}
	for i := max(1, from); i < len(word); i++ {
		doubled := word[i] == word[i-1]
		if (allEdits || doubled) && (i+1 == len(word) || word[i] != word[i+1]) { // of two equal letters, remove the second
			n := copy(buffer[:], word[:i])
			yield(buffer[:n+copy(buffer[n:], word[i+1:])])
		}
		if allEdits {
			correction := buffer[:copy(buffer[:], word)]
			for c := byte('a'); c <= 'z'; c++ {
				if correction[i] = c; c != word[i] {
					yield(correction)
				}
			}
		}
	}
	for i := max(1, from); i <= len(word); i++ {
		correction := buffer[:len(word)+1]
		copy(correction, word[:i])
		copy(correction[i+1:], word[i:])
		for c := byte('a'); c <= 'z'; c++ {
			if correction[i] = c; i < len(word) && c == word[i] || len(word) < minLenForMissing && c != word[i-1] {
				continue // a duplicate of the next letter, or the word is too short for anything but a doubled letter
			}
			yield(correction)
		}
	}
}
