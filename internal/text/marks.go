package text

import "strings"

// SpeaksOfTime reports whether s has a word that tells when something happens:
// a day, a month, a year, "ago", "recently" and the like.
func SpeaksOfTime(s string) bool {
	found := false
	EachWord(s, func(w string) { found = found || timeWord(w) })
	return found
}

func timeWord(w string) bool {
	if dateWords[w] || vagueTimes[w] {
		return true
	}
	if _, ok := weekdays[w]; ok {
		return true
	}
	if _, ok := months[w]; ok && w != "may" && w != "march" {
		return true
	}
	_, year := yearNumber(w)
	return year
}

// vagueTimes tell when without naming a date.
var vagueTimes = map[string]bool{
	"ago": true, "recently": true, "lately": true, "soon": true, "before": true, "since": true, "earlier": true, "later": true,
	"summer": true, "winter": true, "spring": true, "autumn": true, "weekends": true, "weekend": true, "mornings": true,
	"hour": true, "hours": true, "minute": true, "minutes": true, "decade": true, "decades": true, "birthday": true,
	"anniversary": true, "christmas": true, "easter": true, "thanksgiving": true, "halloween": true, "upcoming": true,
}

// NamesPlace reports whether s has a word for a kind of place, or a name after a
// word that places stand behind ("in Lisbon").
func NamesPlace(s string) bool {
	prev := ""
	for _, w := range spans(s) {
		word := w.Of(s)
		low := Fold(word)
		if placeWords[low] || (prev == "in" || prev == "at" || prev == "to" || prev == "from" || prev == "near") && isName(word) {
			return true
		}
		prev = low
	}
	return false
}

var placeWords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`city town village country state home house apartment park beach lake river mountain mountains
		forest island museum cafe restaurant bar school university college church office hospital hotel airport station gym
		studio theater theatre cinema library store shop mall market garden street downtown neighborhood abroad campsite trail
		coast farm zoo stadium arena gallery shelter hometown countryside`) {
		m[w] = true
	}
	return m
}()

// Quotes reports whether s has something in quotation marks, a title perhaps.
func Quotes(s string) bool {
	open := strings.IndexAny(s, `"“«`)
	return open >= 0 && strings.IndexAny(s[open+1:], `"”»`) > 1
}
