package text

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/lazy"
)

// WithAbsoluteDates replaces relative dates in s by absolute dates, resolved from the reference day: "yesterday" by
// "on 2026-05-03", "since last year" by "since 2025", "our Friday chat" by "our 2026-05-08 chat". It keeps
// phrases without an absolute form ("over a year ago", "yesterday's meeting") or without a single day ("every
// Friday", "Monday to Friday"). [ResolveDates] finds the same dates in the result.
func WithAbsoluteDates(s string, reference time.Time) string {
	p := newDateParser(s, reference)
	w := dateWriter{dateParser: p, dates: p.allDates()}
	for k := 0; k < len(w.dates); k++ {
		if d := w.dates[k]; d.IsRelative && !w.mustKeepWords(k) {
			k += w.writeDate(k)
		}
	}
	w.out.WriteString(s[w.writtenUpTo:])
	return w.out.String()
}

// dateWriter rewrites the dates of a text.
type dateWriter struct {
	*dateParser
	dates       []foundDate
	out         strings.Builder
	writtenUpTo int // offset in text up to which out is written
}

// replace replaces text[start:end] by words. It capitalises words that replace a capitalised start of a sentence.
func (w *dateWriter) replace(start, end int, words string) {
	before := strings.TrimRight(w.text[:start], " \t")
	opens := before == "" || strings.ContainsRune(".!?\n", rune(before[len(before)-1]))
	if first := w.text[start]; opens && 'A' <= first && first <= 'Z' {
		words = strings.ToUpper(words[:1]) + words[1:]
	}
	w.out.WriteString(w.text[w.writtenUpTo:start])
	w.out.WriteString(words)
	w.writtenUpTo = end
}

// tokenBefore returns the n-th token before token i if single spaces separate the tokens, otherwise "".
func (w *dateWriter) tokenBefore(i, n int) string {
	for ; n > 0; n-- {
		if i--; i < 0 || w.textAfter(i) != " " {
			return ""
		}
	}
	return w.tokens[i].lower
}

// tokenAfter returns token i if a space precedes the token, otherwise "".
func (w *dateWriter) tokenAfter(i int) string {
	if i <= 0 || i >= len(w.tokens) || w.textAfter(i-1) != " " {
		return ""
	}
	return w.tokens[i].lower
}

var (
	// wordsBeforeDate are words after which a date needs no preposition.
	wordsBeforeDate = lazy.Words(`since until till by before after from of during for around to between through
		throughout as than about over within towards toward against versus vs`)
	// partPrefixes may be between a preposition and a month or year.
	partPrefixes = lazy.Words("early late mid")
	// dateOwners are articles and possessives before a noun or its date: "our Friday chat".
	dateOwners = lazy.Words("the a an my our your his her their its this that these those")
	// repetitionWords precede a weekday or month without a specific date: "every Friday", "Good Friday".
	repetitionWords = lazy.Words(`every each any most per one another weekly monthly usual regular recurring good black cyber ash
		holy maundy palm easter super`)
	// imprecisionWords make a date imprecise: "over a year ago".
	imprecisionWords = lazy.Words("over almost nearly than least most under barely roughly approximately")
	// wordsBeforeDuration precede a duration.
	wordsBeforeDuration = lazy.Words("all for over in within during through throughout")
	// verbsAfterDate follow a date that is the subject: "Friday works".
	verbsAfterDate = lazy.Words("is was will has had isn wasn marks works sounds looks seems")
	// rangeWords join the two ends of a range.
	rangeWords = lazy.Words("to through thru until till - – —")
)

// isNoun reports whether token i is a noun to which the preceding date may belong.
func (w *dateWriter) isNoun(i int) bool {
	low := w.tokenAfter(i)
	switch {
	case len(low) < 3, stopWords.Has(low), wordsBeforeDate.Has(low), verbsAfterDate.Has(low), isDateNoun(low), low[0] < 'a' || low[0] > 'z',
		strings.HasSuffix(low, "ing") && len(low) > 4 && low != "meeting" && low != "training" && low != "hearing":
		return false
	}
	return true
}

func isDateNoun(word string) bool {
	return strings.Contains("UNITS PART NAMED", dateClass(word)) && dateClass(word) != ""
}

// isPluralNoun reports whether token i, or the token after a noun or part of the day, is a plural noun.
func (w *dateWriter) isPluralNoun(i int) bool {
	for k := i; k < i+2 && (dateClass(strings.TrimSuffix(w.tokenAfter(k), "s")) == "PART" || w.isNoun(k)); k++ {
		if low := w.tokenAfter(k); strings.HasSuffix(low, "s") && !strings.HasSuffix(low, "ss") {
			return true
		}
	}
	return false
}

// isAfterPossessive reports whether a possessive precedes token i: "my", "Ana's".
func (w *dateWriter) isAfterPossessive(i int) bool {
	low := w.tokenBefore(i, 1)
	return dateOwners.Has(low) || low == "s" && i > 1 && w.isGenitive(i-1)
}

// isGenitive reports whether token i is the s of "Friday's".
func (w *dateWriter) isGenitive(i int) bool {
	return i > 0 && i < len(w.tokens) && w.tokens[i].lower == "s" && (w.textAfter(i-1) == "'" || w.textAfter(i-1) == "’")
}

// writeDate writes date k, and the next date of a range. It returns the number of further dates written.
func (w *dateWriter) writeDate(k int) int {
	d := w.dates[k]
	i, j := d.firstToken, d.firstToken+d.tokenCount // the tokens of the date
	start, end := w.tokens[i].Start, d.End
	preposition := "" // "on" or "in" as the person wrote it
	if d.Start < start {
		preposition, start = w.tokens[i-1].lower, d.Start
	}
	if w.beginsRange(k) {
		w.writeRange(k, start, preposition)
		return 1
	}
	part := ""
	if t := w.tokens[j-1]; j-i > 1 && t.class == "PART" {
		part = t.lower
	} else if t.class == "WEEKDAY" && dateClass(w.tokenAfter(j)) == "PART" {
		part = w.tokenAfter(j)
		end = w.tokens[j].End
		j++
	}
	if w.isAttributive(d, j) {
		w.replace(start, d.End, d.nounPhrase(""))
		return 0
	}
	// "the day before yesterday", "this coming Friday", "the 14th"
	if low := w.tokenBefore(i, 1); preposition == "" && (d.tokenCount > 1 || isDigitAt(w.tokens[i].lower, 0)) && (low == "the" || low == "this") {
		i--
		if low := w.tokenBefore(i, 1); low == "on" || low == "in" {
			i--
		}
		start = w.tokens[i].Start
	}
	words := d.withPreposition(part)
	if prev := w.tokenBefore(i, 1); preposition == "" && (partPrefixes.Has(prev) && d.Precision >= Month || wordsBeforeDate.Has(prev) || w.isAfterPartPrefix(i) || prev == "" && verbsAfterDate.Has(w.tokenAfter(j)) ||
		prev == "and" && k > 0 && w.tokenBefore(w.dates[k-1].firstToken, 1) == "between") {
		words = d.nounPhrase(part)
	}
	w.replace(start, end, words)
	return 0
}

// beginsRange reports whether date k begins a range of days that the next date ends.
func (w *dateWriter) beginsRange(k int) bool {
	if k+1 == len(w.dates) {
		return false
	}
	a, b := w.dates[k], w.dates[k+1]
	return a.beginsRange || a.hasDayAndMonth && b.hasDayAndMonth && a.From.Before(b.From) &&
		slices.Contains([]string{"-", "–", "—", "to", "through"}, w.textBetween(k))
}

// textBetween returns the text between dates k and k+1.
func (w *dateWriter) textBetween(k int) string {
	return strings.TrimSpace(w.text[w.dates[k].End:max(w.dates[k].End, w.dates[k+1].Start)])
}

// isAttributive reports whether a date belongs to the noun at token j: "our Friday chat".
func (w *dateWriter) isAttributive(d foundDate, j int) bool {
	t, single := w.tokens[d.firstToken], j-d.firstToken == 1 || d.tokenCount == 1
	if d.Start < t.Start || !w.isNoun(j) {
		return false
	}
	if !w.isAfterPossessive(d.firstToken) {
		return single && t.class == "WEEKDAY"
	}
	return single || t.class == "STEP" || d.hasDayAndMonth
}

// mustKeepWords reports whether date k must keep its words, because the words are ambiguous or mean no single day.
func (w *dateWriter) mustKeepWords(k int) bool {
	d := w.dates[k]
	i, j := d.firstToken, d.firstToken+d.tokenCount
	first, prev := w.tokens[i], w.tokenBefore(i, 1)
	switch {
	case d.Start > 0 && strings.ContainsRune("-#@/", rune(w.text[d.Start-1])) && !(k > 0 && w.dates[k-1].beginsRange):
		return !w.isAfterPartPrefix(i)
	case d.tokenCount > 2 && imprecisionWords.Has(prev), w.isGenitive(j):
		return true // "over a year ago", "yesterday's meeting"
	case d.tokenCount == 2 && first.class == "STEP" && isDateNoun(w.tokens[i+1].lower): // a length of time, as in "the last week of June" or "our next week trip"
		return w.tokenAfter(j) == "of" || d.Precision != Weekend && (first.lower == "past" || first.lower != "this" && prev == "the" || first.lower == "last" && wordsBeforeDuration.Has(prev)) ||
			(d.Precision == Week || d.Precision == Weekend) && w.isAttributive(d, j)
	case d.tokenCount > 1:
		return false
	case (first.class == "MONTH" || first.class == "WEEKDAY") && (prev == "the" || prev == "a") && !w.isNoun(j):
		return true // "it was a Friday", "the Friday after"
	case first.class == "MONTH":
		return repetitionWords.Has(prev) || d.Start == first.Start && !w.isAfterPossessive(i) && !partPrefixes.Has(prev) && !wordsBeforeDate.Has(prev) &&
			!(k > 0 && w.dates[k-1].End+5 >= d.Start)
	case first.class != "WEEKDAY":
		return false
	case w.tokenAfter(j) == "the" && j+1 < len(w.tokens) && isDigitAt(w.tokens[j+1].lower, 0):
		return true // "Tuesday the 5th"
	}
	return w.isRecurring(k-1) || w.isRecurring(k) || w.isRecurring(k+1)
}

// isRecurring reports whether date k is a repeated weekday ("every second Monday", "Sunday mornings") or one
// of several ("Monday to Friday").
func (w *dateWriter) isRecurring(k int) bool {
	if !w.isBareWeekday(k) {
		return false
	}
	i := w.dates[k].firstToken
	return repetitionWords.Has(w.tokenBefore(i, 1)) || repetitionWords.Has(w.tokenBefore(i, 2)) || w.isPluralNoun(i+1) ||
		w.isBareWeekday(k+1) && (rangeWords.Has(w.textBetween(k)) || w.textBetween(k) == "and" && w.tokenBefore(i, 1) == "between")
}

func (w *dateWriter) isBareWeekday(k int) bool {
	return k >= 0 && k < len(w.dates) && w.dates[k].tokenCount == 1 && w.tokens[w.dates[k].firstToken].class == "WEEKDAY"
}

// isAfterPartPrefix reports whether token i is a month after "mid-", "early" or "late".
func (w *dateWriter) isAfterPartPrefix(i int) bool {
	return i > 0 && w.tokens[i].class == "MONTH" && partPrefixes.Has(w.tokens[i-1].lower) && w.textAfter(i-1) == "-"
}

// writeRange writes both ends of a range of days: date k and the next date.
func (w *dateWriter) writeRange(k, start int, preposition string) {
	a, b := w.dates[k], w.dates[k+1]
	joint := w.text[a.End:b.Start]
	if strings.Trim(joint, " -–—") == "" {
		joint = " to "
	}
	words := a.From.Format(time.DateOnly) + joint + b.From.Format(time.DateOnly)
	prev := w.tokenBefore(a.firstToken, 1)
	if preposition != "" || !wordsBeforeDate.Has(prev) && !(w.isAfterPossessive(a.firstToken) && w.isNoun(b.firstToken+b.tokenCount)) {
		words = "from " + words
	}
	w.replace(start, b.End, words)
}
