package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
)

// EndsInQuestionMark reports whether s ends in a question mark.
func EndsInQuestionMark(s string) bool {
	s = strings.TrimRightFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"')”’`, r) })
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}

// numberWords maps number words to digits. It omits "one", which is usually a pronoun.
var numberWords = map[string]string{
	"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
	"nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14",
	"fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19",
	"twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70",
	"eighty": "80", "ninety": "90", "hundred": "100", "thousand": "1000", "million": "1000000",
	"twice": "2", "dozen": "12",
}

// Numbers returns the numbers in s in order: digits without thousands separators and ordinal endings ("3rd"
// gives 3), and number words as digits.
func Numbers(s string) []string {
	var out []string
	EachWord(s, func(w string) {
		if n, ok := numberWords[w]; ok {
			out = append(out, n)
		} else if isDigitAt(w, 0) {
			out = append(out, w[:strings.LastIndexAny(w, "0123456789")+1])
		}
	})
	return out
}

var negations = lazy.Words(`not never no none nor neither nothing nobody nowhere without cannot dont doesnt
	didnt isnt cant wont`)

// HasNegation reports whether s denies something ("not", "n't", "never", "no longer"). "Not only" does not count
// as a denial.
func HasNegation(s string) bool {
	words := Words(s)
	for i, w := range words {
		if negations.Has(w) && (w != "not" || i+1 == len(words) || words[i+1] != "only") {
			return true
		}
	}
	return false
}

// personTitles precede names: a capitalised word after "Mr." is a name, not the beginning of a sentence.
var personTitles = lazy.Words("mr mrs ms dr st prof")

// Names returns the names in s in order of appearance, without duplicates. A name is a run of adjacent
// capitalised words ("New York"), without days, months and the like. The first word of a sentence counts only
// if a capitalised word follows, or if the word is also capitalised inside a sentence.
func Names(s string) []string {
	names := capitalRuns(s)
	midSentence, seen := map[string]bool{}, map[string]bool{}
	for _, n := range names {
		midSentence[n.text] = midSentence[n.text] || !n.beginsSentence
	}
	var out []string
	for _, n := range names {
		if (midSentence[n.text] || strings.Contains(n.text, " ")) && !seen[n.text] {
			seen[n.text] = true
			out = append(out, n.text)
		}
	}
	return out
}

type capitalRun struct {
	text           string
	beginsSentence bool
}

// capitalRuns returns the runs of capitalised words in text order.
func capitalRuns(s string) (names []capitalRun) {
	previousWord := "" // also across sentences, because "Mr." does not end a sentence
	for _, sentence := range Sentences(s) {
		body := sentence.Slice(s)
		from, end := 0, -1 // the bounds of the current run; end is negative if there is none
		for i, w := range WordSpans(body) {
			word := w.Slice(body)
			switch {
			case !mayBeName(word):
				end = -1
			case end >= 0 && (body[end:w.Start] == " " || body[end:w.Start] == "-"):
				end = w.End
				names[len(names)-1].text = body[from:end]
			default:
				from, end = w.Start, w.End
				names = append(names, capitalRun{word, i == 0 && !personTitles.Has(previousWord)})
			}
			previousWord = strings.ToLower(word)
		}
	}
	return names
}

func mayBeName(word string) bool {
	r, n := utf8.DecodeRuneInString(word)
	if !unicode.IsUpper(r) || len(word) == n {
		return false
	}
	low := Fold(word)
	return dateClass(low) != "MONTH" &&
		dateClass(strings.TrimSuffix(low, "s")) != "WEEKDAY" && !stopWords.Has(low) && !capitalizedNonNames.Has(low)
}

// capitalizedNonNames are words that are often capitalised but are not names.
var capitalizedNonNames = lazy.Words(`ok okay hey hi hello thanks thank yes yeah wow oh please sure great im ive sorry bye well now
	today yesterday tomorrow user remember lol`)

// WordSpans returns the spans of the words of s. An apostrophe separates two words: "Ana" and "s".
func WordSpans(s string) []Span {
	var out []Span
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !isWordRune(r) {
			i += n
			continue
		}
		end := wordEnd(s, i)
		if IsUnspacedScript(r) {
			end = runEnd(s, i, IsUnspacedScript)
		}
		out = append(out, Span{i, end})
		i = end
	}
	return out
}
