package text

import (
	"slices"
	"strings"
)

// Bounds of what is taken for misspelt. A short word with another letter is mostly another
// word, while letters that changed places hardly ever make one.
const (
	leastSwapped = 4  // letters of a word of which two changed places, or one stands twice or not
	leastDropped = 5  // of a word without one of its letters
	leastOther   = 6  // of a word with a letter too much, or another
	mostMisspelt = 20 // longer ones take more time to try than they are worth
	ending       = 5  // letters in which a slip may hide what is cut off of a word
)

// MostTried bounds the words of a search that are tried as misspelt: a question has one or
// two; text in a language that an owner has nothing in has hundreds.
const MostTried = 8

// Meant returns what a term of a text as [Terms] gives it is taken for if it is misspelt, of what
// has says is there: by its stem, or else by the ending of its word. Where nothing is, tabled
// are the terms of the tables that it may be meant to be of which anything related is there, or which
// ask for a class. What has is given is good until it returns.
func Meant(s, term string, has func(term []byte) bool) (meant, tabled []string) {
	try := func(m []byte) {
		switch {
		case slices.Contains(meant, string(m)) || slices.Contains(tabled, string(m)):
		case has(m):
			meant = append(meant, string(m))
		case Related(string(m)) != nil || ClassesAsked(string(m)) != 0:
			tabled = append(tabled, string(m))
		}
	}
	EachMeant(term, try)
	if meant == nil {
		var room []byte
		EachMeantEnding(WordWith(s, term), func(m string) {
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

// EachMeant calls yield, once each, for what a term as [Terms] gives it may be meant to be if
// it is misspelt: all that is one slip away and begins with the same letter, or with two that
// changed places. Slips are two letters that changed places, a letter left out, one too
// many, or another. There is nothing for short and very long words, and for such as are not plain
// Latin letters. What is yielded is good until yield returns.
func EachMeant(term string, yield func(meant []byte)) {
	if mayBeMisspelt(term) && !inTables(term) {
		eachSlip(term, 0, len(term) >= leastOther, yield)
	}
}

// EachMeantEnding calls yield for the terms of what a word as [Words] gives it may be meant to
// be if a slip near its end keeps it from being stemmed ("paintign": "paint"). One may come
// several times.
func EachMeantEnding(word string, yield func(term string)) {
	if len(word) > leastSwapped && mayBeMisspelt(word) && !inTables(Term(word)) {
		eachSlip(word, max(0, len(word)-ending), false, func(meant []byte) {
			if !cutOff(meant) {
				return
			}
			if t := termOf(string(meant)); t != "" {
				yield(t)
			}
		})
	}
}

// cutOff reports whether stemming takes something off a word: else its term was tried as it is.
func cutOff(word []byte) bool {
	switch word[len(word)-1] {
	case 's', 'y', 'e':
		return true
	case 'g', 'd', 'r', 'n', 't', 'l', 'c':
		return slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(string(word), end) })
	}
	return false
}

// endings are those without the letters that most of the others end in.
var endings = []string{"ing", "ed", "er", "ion", "ment", "ful", "al", "ic", "ant", "ent"}

// mayBeMisspelt reports whether a word is of a length and script to be tried.
func mayBeMisspelt(w string) bool {
	return len(w) >= leastSwapped && len(w) <= mostMisspelt && latin(w)
}

// inTables reports whether a term is known here, and so spelt as it should be.
func inTables(term string) bool {
	return Related(term) != nil || ClassesOf(term)|ClassesAsked(term) != 0
}

// eachSlip yields what w may be meant to be if the slip is at from or behind it; by any letter
// only if other.
func eachSlip(w string, from int, other bool, yield func(meant []byte)) {
	var room [mostMisspelt + 1]byte
	for i := from; i+1 < len(w); i++ {
		if w[i] != w[i+1] {
			meant := room[:copy(room[:], w)]
			meant[i], meant[i+1] = w[i+1], w[i]
			yield(meant)
		}
	}
	for i := max(1, from); i < len(w); i++ {
		twice := w[i] == w[i-1]
		if (other || twice) && (i+1 == len(w) || w[i] != w[i+1]) { // of a letter that stands twice, the second
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
			if meant[i] = c; i < len(w) && c == w[i] || len(w) < leastDropped && c != w[i-1] {
				continue // the same as behind that letter, or too short for more than a letter twice
			}
			yield(meant)
		}
	}
}
