package eval

import (
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/loci-memory/loci/bench/report"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// What is supported is judged here by other code than package learn's, which decided to remember it.

// unsupported says what of a fact its turn does not say, "" if it says it all:
// there is a quote in it; names and numbers stand in the turn, but for dates, which
// may have been worked out; of the content words at least three tenths do, by their
// first letters; and the fact denies something only if the quoted words or the turn
// do.
func unsupported(fact string, quote *memory.Span, turn string) string {
	if quote == nil || quote.Start < 0 || quote.End > len(turn) || quote.Start >= quote.End || strings.TrimSpace(turn[quote.Start:quote.End]) == "" {
		return "no quote"
	}
	fact = writtenDate.ReplaceAllString(isoDate.ReplaceAllString(fact, " "), " ")
	have := map[string]bool{}
	for _, w := range plainWords(turn) {
		have[w] = true
	}
	spelled := map[string]bool{}
	for _, n := range text.Numbers(turn) {
		spelled[n] = true
	}
	content, found := 0, 0
	for i, w := range plainWords(fact) {
		switch {
		case unicode.IsDigit(rune(w[0])):
			if !have[w] && !spelled[strings.Trim(w, "abcdefghijklmnopqrstuvwxyz")] {
				return "number " + w
			}
		case (len(w) >= 4 || len(w) == 3 && i > 0 && written(fact, w)) && !frequent[w]:
			content++
			if have[w] || begins(have, w[:min(len(w), 4)]) {
				found++
			} else if i > 0 && written(fact, w) {
				return "name " + w
			}
		}
	}
	if 10*found < 3*content {
		return "words"
	}
	if denial.MatchString(fact) && !denial.MatchString(turn) {
		return "denies what nobody denied"
	}
	return ""
}

// isoDate and writtenDate are dates as Loci and a person write them.
var isoDate = lazy.Compile(`\b\d{4}(?:-\d\d){1,2}\b`)

var writtenDate = lazy.Compile(`(?i)\b(?:(?:january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|winter|monday|tuesday|wednesday|thursday|friday|saturday|sunday)(?: \d{1,2}(?:st|nd|rd|th)?)?(?:,? \d{4})?|(?:in|since|by|until|before|after|on) \d{4})\b`)

// denial matches negations.
var denial = lazy.Compile(`(?i)\b(?:not|no|never|none|nobody|nothing|without|neither|nor|cannot|\w+n['’]?t|stop\w*|quit\w*|left|leave|gave up|given up|used to|any ?more|hat\w+|dislik\w+|avoid\w*|allerg\w*|former\w*|ex|lost|over|instead)\b`)

// frequent are frequent words of four and more letters.
var frequent = map[string]bool{
	"user": true, "users": true, "their": true, "they": true, "with": true, "from": true, "that": true, "this": true, "have": true, "been": true,
	"what": true, "when": true, "where": true, "which": true, "about": true, "currently": true, "called": true, "named": true, "likes": true,
	"does": true, "name": true,
}

func plainWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func begins(have map[string]bool, front string) bool {
	for w := range have {
		if strings.HasPrefix(w, front) {
			return true
		}
	}
	return false
}

// written reports whether s contains a word with a capital letter.
func written(s, word string) bool {
	for f := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if strings.ToLower(f) == word && unicode.IsUpper([]rune(f)[0]) {
			return true
		}
	}
	return false
}

func TestUnsupportedFactsAreFound(t *testing.T) {
	const turn = "I moved to Bergen yesterday with 2 cats, and I don't eat fish."
	whole := &memory.Span{Start: 0, End: len(turn)}
	for fact, want := range map[string]string{
		"User moved to Bergen on 2026-05-03":      "",
		"User moved to Bergen in May 2026":        "",
		"User has two cats":                       "",
		"User has 3 cats":                         "number 3",
		"User moved to Bergen with Mira":          "name mira",
		"User plays violin and collects stamps":   "words",
		"User does not eat fish":                  "",
		"User moved to Bergen and dislikes boats": "",
	} {
		if got := unsupported(fact, whole, turn); got != want {
			t.Errorf("unsupported(%q) = %q, want %q", fact, got, want)
		}
	}
	if got := unsupported("User never moved to Bergen", &memory.Span{End: 8}, "I moved to Bergen."); got == "" {
		t.Error("a denial that nobody made is supported")
	}
	for _, quote := range []*memory.Span{nil, {Start: 3, End: 3}, {End: 1000}} {
		if got := unsupported("User has two cats", quote, turn); got != "no quote" {
			t.Errorf("with the quote %v: %q", quote, got)
		}
	}
}

// thirdPerson turns a sentence in the first person into one about the user.
func thirdPerson(s string) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "’", "'")
	return strings.TrimSpace(firstPerson.ReplaceAllStringFunc(s, func(words string) string { return thirdPersons[words] }))
}

// firstPerson is how people speak of themselves, longer forms first, and thirdPersons how others do.
var firstPerson = lazy.Compile(`\b(?:I'm|I am|I've|I have|I'd|I'll|I don't|I was|I|[Mm]y|me|[Ww]e|[Oo]ur)\b`)

var thirdPersons = map[string]string{
	"I'm": "User is", "I am": "User is", "I've": "User has", "I have": "User has", "I'd": "User would", "I'll": "User will",
	"I don't": "User does not", "I was": "User was", "I": "User", "My": "User's", "my": "User's", "me": "User",
	"We": "they", "we": "they", "Our": "their", "our": "their",
}

// cellOf returns a measure of a row; not a number if it has none.
func cellOf(row report.Row, metric string) float64 {
	for _, c := range row.Cells {
		if c.Metric == metric {
			return c.Value
		}
	}
	return math.NaN()
}
