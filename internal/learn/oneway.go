package learn

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/late"
)

// oneWay returns s with what people and models write in two ways written in one: numbers
// in figures ("twenty-five" is "25"), sums as a number and a currency ("$5" is "5
// dollars"), days in full ("Tue" is "Tuesday"), and those who passed away as died.
// "One" and the ordinals stay: they count nothing, often.
func oneWay(s string) string {
	words := spaced(s)
	var out []string // set with the first change
	for i := 0; i < len(words); i++ {
		said, n := plainWord(words, i)
		if n > 0 && out == nil {
			out = append(make([]string, 0, len(words)+4), words[:i]...)
		}
		switch {
		case n > 0:
			out = append(out, said)
			i += n - 1
		case out != nil:
			out = append(out, words[i])
		}
	}
	if out == nil {
		return s
	}
	return strings.Join(out, " ")
}

// spaced cuts s at its spaces, and hyphens between letters, as in "twenty-five", stay.
func spaced(s string) []string { return strings.Split(s, " ") }

// plainWord returns what stands for the n words from i on, n is 0 if they stay.
func plainWord(words []string, i int) (said string, n int) {
	core, before, after := unmarked(words[i])
	if core == "" {
		return "", 0
	}
	if r, size := utf8.DecodeRuneInString(core); size < len(core) && unicode.IsDigit(rune(core[size])) {
		if word := currencyWords[r]; word != "" {
			return before + core[size:] + " " + word + after, 1
		}
	}
	low := strings.ToLower(core)
	if day := shortDays[core]; day != "" {
		return before + day + strings.TrimPrefix(after, "."), 1
	}
	if low == "passed" && i+1 < len(words) {
		if next, _, end := unmarked(words[i+1]); strings.EqualFold(next, "away") {
			return before + "died" + end, 2
		}
	}
	value, ok := numberWord(low)
	if !ok || value == 1 && i+1 == len(words) {
		return "", 0
	}
	n = 1
	for after == "" && i+n < len(words) {
		next, _, end := unmarked(words[i+n])
		more, ok := numberWord(strings.ToLower(next))
		switch {
		case ok && (more == 100 && value < 100 || more == 1000 && value < 1000):
			value *= more
		case ok && more < 10 && value%10 == 0 && value > 10 && value < 100, ok && more < 100 && value >= 100 && value%100 == 0:
			value += more
		default:
			return before + strconv.Itoa(value) + after, n
		}
		n, after = n+1, end
	}
	return before + strconv.Itoa(value) + after, n
}

// unmarked parts a word from the marks around it.
func unmarked(w string) (core, before, after string) {
	core = strings.TrimLeft(w, `("'“‘[`)
	before = w[:len(w)-len(core)]
	trimmed := strings.TrimRight(core, `.,;:!?)"'”’]`)
	return trimmed, before, core[len(trimmed):]
}

var currencyWords = map[rune]string{'$': "dollars", '€': "euros", '£': "pounds", '¥': "yen"}

var shortDays = map[string]string{"Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday", "Thur": "Thursday", "Thurs": "Thursday", "Fri": "Friday"}

var smallNumbers = late.Make(func() map[string]int {
	m := map[string]int{"hundred": 100, "thousand": 1000}
	for i, w := range strings.Fields("two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty") {
		m[w] = i + 2
	}
	for i, w := range strings.Fields("thirty forty fifty sixty seventy eighty ninety") {
		m[w] = 10 * (i + 3)
	}
	return m
})

// numberWord reads "twenty", "five" and "twenty-five".
func numberWord(w string) (int, bool) {
	if n, ok := smallNumbers.Get()[w]; ok {
		return n, true
	}
	tens, ones, ok := strings.Cut(w, "-")
	if !ok {
		return 0, false
	}
	a, b := smallNumbers.Get()[tens], smallNumbers.Get()[ones]
	if ones == "one" {
		b = 1
	}
	return a + b, a >= 20 && a < 100 && b > 0 && b < 10
}
