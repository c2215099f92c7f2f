package text

import (
	_ "embed"
	"strings"
	"sync"
)

// askingTable are words that questions ask with beside the stop words; behind such a word with a
// colon what else fingers make of it, and behind "not" what is one slip from one and means itself.
//
//go:embed tables/asking.txt
var askingTable string

// Respell returns a short text with the misspelt words in it that questions ask with spelt
// rightly: stop words, and words of time and of remembering, of which two letters changed places behind
// the first or one stands twice or not ("whne"), and what else is often typed for
// one. Capitalised words but the first, months and days of the week are names.
func Respell(s string) string {
	if len(s) > maxSeeks {
		return s
	}
	words := asking()
	var out []byte
	done, first := 0, true
	for i := 0; i < len(s); {
		start, set := i, uint32(0)
		for ; i < len(s) && wordByte[s[i]]; i++ {
			set |= letterBit(s[i])
		}
		if n := i - start; n >= leastAsking && n <= mostAsking && set&otherSigns == 0 {
			small := s[start] >= 'a'
			if right := words.meant(set, s[start:i]); right != "" && (first || small || n >= leastOfDate && ofDate(right)) {
				out, done = append(append(out, s[done:start]...), right...), i
				if !small {
					out[len(out)-len(right)] -= 'a' - 'A'
				}
			}
		}
		if i > start {
			first = false
		} else {
			i++
		}
	}
	if done == 0 {
		return s
	}
	return string(append(out, s[done:]...))
}

const (
	leastAsking = 3  // letters of a word that is taken for misspelt
	mostAsking  = 12 // of the longest that asks, and one more
	leastOfDate = 5  // of one with a capital that is a month or a day: "Mya" is a name
	otherSigns  = 1 << 31
)

func ofDate(word string) bool {
	c := class(word)
	return c == "MONTH" || c == "WEEKDAY"
}

// wordByte are the bytes that belong to a word, or to a letter that is not ASCII.
var wordByte = func() (table [256]bool) {
	for c := range table {
		table[c] = c >= 0x80 || inWord[c]
	}
	return table
}()

// letterBit is a letter's place in a set of letters.
func letterBit(c byte) uint32 {
	if c |= ' '; c < 'a' || c > 'z' {
		return otherSigns
	}
	return 1 << (c - 'a')
}

// askingWord is a word that questions ask with or, where means is not "", a slip of one or a
// word that means itself.
type askingWord struct {
	set       uint32
	is, means string
}

// askingWords have a place by the set of their letters: two letters that change places leave it
// as it is.
type askingWords [1 << 10][]askingWord

func (a *askingWords) at(set uint32) *[]askingWord { return &a[set*0x9e3779b1>>22] }

// meant returns what a misspelt word that asks is meant to be, "" for any other.
func (a *askingWords) meant(set uint32, word string) (right string) {
	for i := range *a.at(set) {
		w := &(*a.at(set))[i]
		switch {
		case w.set != set:
		case strings.EqualFold(w.is, word):
			if w.means == w.is {
				return ""
			}
			return w.means
		case right == "" && w.means == "":
			if low := strings.ToLower(word); slipped(low, w.is) {
				right = w.is
			}
		}
	}
	return right
}

// slipped reports whether a word is another one of which two letters behind the first changed
// places, or, of four letters and more, one stands twice or not.
func slipped(word, is string) bool {
	i := 0
	for i < len(word) && i < len(is) && word[i] == is[i] {
		i++
	}
	switch {
	case i == 0:
		return false
	case len(word) == len(is):
		return i+1 < len(is) && word[i] == is[i+1] && word[i+1] == is[i] && word[i+2:] == is[i+2:]
	case len(is) < leastSwapped:
		return false
	case len(word) == len(is)+1:
		return word[i] == word[i-1] && word[i+1:] == is[i:]
	}
	return len(word)+1 == len(is) && is[i] == is[i-1] && word[i:] == is[i+1:]
}

var asking = sync.OnceValue(func() *askingWords {
	a := new(askingWords)
	add := func(word, means string) {
		set := uint32(0)
		for i := range len(word) {
			set |= letterBit(word[i])
		}
		if place := a.at(set); len(word) >= leastAsking {
			*place = append(*place, askingWord{set, word, means})
		}
	}
	for w := range strings.FieldsSeq(stopTable) {
		add(w, "")
	}
	for line := range strings.Lines(askingTable) {
		right, slips, ok := strings.Cut(line, ":")
		if !ok {
			right, slips = "", line
		}
		for w := range strings.FieldsSeq(slips) {
			if right == "not" {
				add(w, w)
			} else {
				add(w, right)
			}
		}
	}
	return a
})
