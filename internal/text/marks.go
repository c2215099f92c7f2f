package text

import (
	"github.com/loci-memory/loci/internal/lazy"
)

// IsTime reports whether a word from [Words] refers to time: a day, a month, a year, "ago", "recently" and the like.
func IsTime(w string) bool {
	switch dateClass(w) {
	case "MONTH":
		return w != "may" && w != "march"
	case "WEEKDAY", "UNIT", "UNITS", "PART", "NAMED":
		return true
	}
	_, year := yearNumber(w)
	return year || vagueTimes.Has(w)
}

// vagueTimes refer to time without a date.
var vagueTimes = lazy.Words(`ago now recently lately soon before since earlier later summer winter spring autumn weekends weekend mornings hour hours minute minutes decade decades
	birthday anniversary christmas easter thanksgiving halloween upcoming`)

// IsNumber reports whether a word from [Words] is a number, in digits or as a word.
func IsNumber(w string) bool {
	return digitAt(w, 0) || numberWords[w] != ""
}
