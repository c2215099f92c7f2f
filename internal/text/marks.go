package text

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// IsTime reports whether a word as [Words] gives it tells when something happens:
// a day, a month, a year, "ago", "recently" and the like.
func IsTime(w string) bool {
	switch class(w) {
	case "MONTH":
		return w != "may" && w != "march"
	case "WEEKDAY", "UNIT", "UNITS", "PART", "NAMED":
		return true
	}
	_, year := yearNumber(w)
	return year || vagueTimes.Has(w)
}

// vagueTimes tell when without naming a date.
var vagueTimes = lazy.Words(`ago now recently lately soon before since earlier later summer winter spring autumn weekends weekend mornings hour hours minute minutes decade decades
	birthday anniversary christmas easter thanksgiving halloween upcoming`)

// IsNumber reports whether a word as [Words] gives it is a number, in digits or
// spelled.
func IsNumber(w string) bool {
	return digitAt(w, 0) || numberWords[w] != ""
}

// IsPlace reports whether a word as [Words] gives it is a kind of place.
func IsPlace(w string) bool { return placeWords.Has(w) }

// NamesPlace reports whether s has a name after a word that places stand behind
// ("in Lisbon").
func NamesPlace(s string) bool {
	for i := 0; i+4 < len(s); i++ { // the shortest is " in X"
		if s[i] != ' ' {
			continue
		}
		before := s[:i]
		word := before[strings.LastIndexByte(before, ' ')+1:]
		switch word {
		case "in", "at", "to", "from", "near", "In", "At", "From", "Near":
			rest := s[i+1:]
			if end := wordEnd(rest, 0); isName(rest[:end]) {
				return true
			}
		}
	}
	return false
}

var placeWords = lazy.Words(`city town village country state home house apartment park beach lake river mountain mountains
	forest island museum cafe restaurant bar school university college church office hospital hotel airport station gym
	studio theater theatre cinema library store shop mall market garden street downtown neighborhood abroad campsite trail
	coast farm zoo stadium arena gallery shelter hometown countryside`)

// Quotes reports whether s has something in quotation marks, a title perhaps.
func Quotes(s string) bool {
	open := strings.IndexAny(s, `"“«`)
	return open >= 0 && strings.IndexAny(s[open+1:], `"”»`) > 1
}
