package text

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/lazy"
)

// Absolute replaces relative dates in s by absolute dates, resolved from the reference day: "yesterday" by
// "on 2026-05-03", "since last year" by "since 2025", "our Friday chat" by "our 2026-05-08 chat". It keeps
// phrases without an absolute form ("over a year ago", "yesterday's meeting") or without a single day ("every
// Friday", "Monday to Friday"). [Resolve] finds the same dates in the result.
func Absolute(s string, reference time.Time) string {
	p := newDateParser(s, reference)
	w := dateWriter{dateParser: p, found: p.all()}
	for k := 0; k < len(w.found); k++ {
		if d := w.found[k]; d.Relative && !w.mustStay(k) {
			k += w.write(k)
		}
	}
	w.b.WriteString(s[w.last:])
	return w.b.String()
}

// dateWriter rewrites the dates of a text.
type dateWriter struct {
	*dateParser
	found []foundDate
	b     strings.Builder
	last  int // s is written up to this index
}

// put replaces s[start:end] by words, capitalised if s[start] is capitalised at the start of a sentence.
func (w *dateWriter) put(start, end int, words string) {
	before := strings.TrimRight(w.s[:start], " \t")
	opens := before == "" || strings.ContainsRune(".!?\n", rune(before[len(before)-1]))
	if first := w.s[start]; opens && 'A' <= first && first <= 'Z' {
		words = strings.ToUpper(words[:1]) + words[1:]
	}
	w.b.WriteString(w.s[w.last:start])
	w.b.WriteString(words)
	w.last = end
}

// before returns the n-th token before token i if single spaces separate the tokens, otherwise "".
func (w *dateWriter) before(i, n int) string {
	for ; n > 0; n-- {
		if i--; i < 0 || w.between(i) != " " {
			return ""
		}
	}
	return w.toks[i].low
}

// after returns token i if a space precedes the token, otherwise "".
func (w *dateWriter) after(i int) string {
	if i <= 0 || i >= len(w.toks) || w.between(i-1) != " " {
		return ""
	}
	return w.toks[i].low
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
	// hedges make a date imprecise: "over a year ago".
	hedges = lazy.Words("over almost nearly than least most under barely roughly approximately")
	// wordsBeforeDuration precede a duration.
	wordsBeforeDuration = lazy.Words("all for over in within during through throughout")
	// verbsAfterDate follow a date that is the subject: "Friday works".
	verbsAfterDate = lazy.Words("is was will has had isn wasn marks works sounds looks seems")
	// rangeWords join the two ends of a range.
	rangeWords = lazy.Words("to through thru until till - – —")
)

// isNoun reports whether token i is a noun to which the preceding date may belong.
func (w *dateWriter) isNoun(i int) bool {
	low := w.after(i)
	switch {
	case len(low) < 3, stopWords.Has(low), wordsBeforeDate.Has(low), verbsAfterDate.Has(low), dateNoun(low), low[0] < 'a' || low[0] > 'z',
		strings.HasSuffix(low, "ing") && len(low) > 4 && low != "meeting" && low != "training" && low != "hearing":
		return false
	}
	return true
}

func dateNoun(low string) bool {
	return strings.Contains("UNITS PART NAMED", dateClass(low)) && dateClass(low) != ""
}

// isPluralNoun reports whether token i, or the token after a noun or part of the day, is a plural noun.
func (w *dateWriter) isPluralNoun(i int) bool {
	for k := i; k < i+2 && (dateClass(strings.TrimSuffix(w.after(k), "s")) == "PART" || w.isNoun(k)); k++ {
		if low := w.after(k); strings.HasSuffix(low, "s") && !strings.HasSuffix(low, "ss") {
			return true
		}
	}
	return false
}

// isAfterPossessive reports whether a possessive precedes token i: "my", "Ana's".
func (w *dateWriter) isAfterPossessive(i int) bool {
	low := w.before(i, 1)
	return dateOwners.Has(low) || low == "s" && i > 1 && w.isGenitive(i-1)
}

// isGenitive reports whether token i is the s of "Friday's".
func (w *dateWriter) isGenitive(i int) bool {
	return i > 0 && i < len(w.toks) && w.toks[i].low == "s" && (w.between(i-1) == "'" || w.between(i-1) == "’")
}

// write writes date k, and the next date of a range. It returns the number of further dates written.
func (w *dateWriter) write(k int) int {
	d := w.found[k]
	i, j := d.token, d.token+d.tokens // the tokens of the date
	start, end := w.toks[i].Start, d.End
	lead := "" // "on" or "in" as the person wrote it
	if d.Start < start {
		lead, start = w.toks[i-1].low, d.Start
	}
	if w.spans(k) {
		w.through(k, start, lead)
		return 1
	}
	part := ""
	if t := w.toks[j-1]; j-i > 1 && t.class == "PART" {
		part = t.low
	} else if t.class == "WEEKDAY" && dateClass(w.after(j)) == "PART" {
		part = w.after(j)
		end = w.toks[j].End
		j++
	}
	if w.isAttributive(d, j) {
		w.put(start, d.End, d.point(""))
		return 0
	}
	// "the day before yesterday", "this coming Friday", "the 14th"
	if low := w.before(i, 1); lead == "" && (d.tokens > 1 || digitAt(w.toks[i].low, 0)) && (low == "the" || low == "this") {
		i--
		if low := w.before(i, 1); low == "on" || low == "in" {
			i--
		}
		start = w.toks[i].Start
	}
	words := d.withPreposition(part)
	if prev := w.before(i, 1); lead == "" && (partPrefixes.Has(prev) && d.Grain >= Month || wordsBeforeDate.Has(prev) || w.isAfterMid(i) || prev == "" && verbsAfterDate.Has(w.after(j)) ||
		prev == "and" && k > 0 && w.before(w.found[k-1].token, 1) == "between") {
		words = d.point(part)
	}
	w.put(start, end, words)
	return 0
}

// spans reports whether date k begins a range of days that the next date ends.
func (w *dateWriter) spans(k int) bool {
	if k+1 == len(w.found) {
		return false
	}
	a, b := w.found[k], w.found[k+1]
	return a.through || a.dayOfMonth && b.dayOfMonth && a.From.Before(b.From) &&
		slices.Contains([]string{"-", "–", "—", "to", "through"}, w.joining(k))
}

// joining returns the text between dates k and k+1.
func (w *dateWriter) joining(k int) string {
	return strings.TrimSpace(w.s[w.found[k].End:max(w.found[k].End, w.found[k+1].Start)])
}

// isAttributive reports whether a date belongs to the noun at token j: "our Friday chat".
func (w *dateWriter) isAttributive(d foundDate, j int) bool {
	t, single := w.toks[d.token], j-d.token == 1 || d.tokens == 1
	if d.Start < t.Start || !w.isNoun(j) {
		return false
	}
	if !w.isAfterPossessive(d.token) {
		return single && t.class == "WEEKDAY"
	}
	return single || t.class == "STEP" || d.dayOfMonth
}

// mustStay reports whether date k must keep its words, because it is ambiguous or no single day.
func (w *dateWriter) mustStay(k int) bool {
	d := w.found[k]
	i, j := d.token, d.token+d.tokens
	first, prev := w.toks[i], w.before(i, 1)
	switch {
	case d.Start > 0 && strings.ContainsRune("-#@/", rune(w.s[d.Start-1])) && !(k > 0 && w.found[k-1].through):
		return !w.isAfterMid(i)
	case d.tokens > 2 && hedges.Has(prev), w.isGenitive(j):
		return true // "over a year ago", "yesterday's meeting"
	case d.tokens == 2 && first.class == "STEP" && dateNoun(w.toks[i+1].low): // a length of time, as in "the last week of June" or "our next week trip"
		return w.after(j) == "of" || d.Grain != Weekend && (first.low == "past" || first.low != "this" && prev == "the" || first.low == "last" && wordsBeforeDuration.Has(prev)) ||
			(d.Grain == Week || d.Grain == Weekend) && w.isAttributive(d, j)
	case d.tokens > 1:
		return false
	case (first.class == "MONTH" || first.class == "WEEKDAY") && (prev == "the" || prev == "a") && !w.isNoun(j):
		return true // "it was a Friday", "the Friday after"
	case first.class == "MONTH":
		return repetitionWords.Has(prev) || d.Start == first.Start && !w.isAfterPossessive(i) && !partPrefixes.Has(prev) && !wordsBeforeDate.Has(prev) &&
			!(k > 0 && w.found[k-1].End+5 >= d.Start)
	case first.class != "WEEKDAY":
		return false
	case w.after(j) == "the" && j+1 < len(w.toks) && digitAt(w.toks[j+1].low, 0):
		return true // "Tuesday the 5th"
	}
	return w.isRecurring(k-1) || w.isRecurring(k) || w.isRecurring(k+1)
}

// isRecurring reports whether date k is a repeated weekday ("every second Monday", "Sunday mornings") or one
// of several ("Monday to Friday").
func (w *dateWriter) isRecurring(k int) bool {
	if !w.bareWeekday(k) {
		return false
	}
	i := w.found[k].token
	return repetitionWords.Has(w.before(i, 1)) || repetitionWords.Has(w.before(i, 2)) || w.isPluralNoun(i+1) ||
		w.bareWeekday(k+1) && (rangeWords.Has(w.joining(k)) || w.joining(k) == "and" && w.before(i, 1) == "between")
}

func (w *dateWriter) bareWeekday(k int) bool {
	return k >= 0 && k < len(w.found) && w.found[k].tokens == 1 && w.toks[w.found[k].token].class == "WEEKDAY"
}

// isAfterMid reports whether token i is a month after "mid-", "early" or "late".
func (w *dateWriter) isAfterMid(i int) bool {
	return i > 0 && w.toks[i].class == "MONTH" && partPrefixes.Has(w.toks[i-1].low) && w.between(i-1) == "-"
}

// through writes both ends of a range of days: date k and the next date.
func (w *dateWriter) through(k, start int, lead string) {
	a, b := w.found[k], w.found[k+1]
	joint := w.s[a.End:b.Start]
	if strings.Trim(joint, " -–—") == "" {
		joint = " to "
	}
	words := a.From.Format(time.DateOnly) + joint + b.From.Format(time.DateOnly)
	prev := w.before(a.token, 1)
	if lead != "" || !wordsBeforeDate.Has(prev) && !(w.isAfterPossessive(a.token) && w.isNoun(b.token+b.tokens)) {
		words = "from " + words
	}
	w.put(start, b.End, words)
}
