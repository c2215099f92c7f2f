package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// smallMonth is a month that people write in small letters where no other word can stand.
var smallMonth = lazy.Compile(`(?:\b(?:in|since|until|till|by|last|next|this|early|late|mid|from|\d(?:st|nd|rd|th)?|\d of) )(january|february|march|april|may|june|july|august|september|october|november|december)\b`)

// monthsCapital writes such months as the dates of a text are looked for.
func monthsCapital(s string) string {
	if !anyMonth(s) {
		return s
	}
	out := []byte(s)
	for _, at := range smallMonth.FindAllStringSubmatchIndex(s, -1) {
		out[at[2]] -= 'a' - 'A'
	}
	return string(out)
}

// anyMonth reports whether a month in small letters may be in s.
func anyMonth(s string) bool {
	for _, end := range [...]string{"uary", "arch", "pril", "may", "june", "july", "ugust", "ember", "ober"} {
		if strings.Contains(s, end) {
			return true
		}
	}
	return false
}
