package text

import (
	"github.com/loci-memory/loci/internal/lazy"
)

// IsTimeWord reports whether a word from [Words] refers to time: such as a day, a month, "ago" or "recently".
func IsTimeWord(word string) bool {
	switch dateClass(word) {
	case "MONTH":
		return word != "may" && word != "march"
	case "WEEKDAY", "UNIT", "UNITS", "PART", "NAMED":
		return true
	}
	_, year := yearNumber(word)
	return year || vagueTimes.Has(word)
}

// vagueTimes refer to time without a date.
var vagueTimes = lazy.Words(`ago now recently lately soon before since earlier later summer winter spring autumn weekends weekend mornings hour hours minute minutes decade decades
	birthday anniversary christmas easter thanksgiving halloween upcoming`)

// IsNumberWord reports whether a word from [Words] is a number, in digits or as a word.
func IsNumberWord(word string) bool {
	return isDigitAt(word, 0) || numberWords[word] != ""
}
