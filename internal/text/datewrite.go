package text

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
)

// Absolute returns s with relative dates written out as meant on the day of said:
// "yesterday" as "on 2026-05-03", "last month" as "in April 2026". A preposition
// that stands before the phrase is kept ("since last year": "since 2025"), and
// before a noun the date becomes its attribute ("our Friday chat": "our 2026-05-08
// chat"). What cannot be said that way stays, with the date in brackets ("over a
// year ago (2025)", "for the next week (from 2026-05-04)"). What names no one day
// stays as it is ("every Friday", "Monday to Friday"). [Resolve] reads the same
// dates in the result as in s, and writing it again changes nothing.
func Absolute(s string, said time.Time) string {
	p := dateParser{s: s, day: midnight(said)}
	if !p.tokenize() {
		return s
	}
	w := dateWriter{dateParser: &p, found: p.all()}
	for k := 0; k < len(w.found); k++ {
		if d := w.found[k]; d.Relative && d.Start >= w.last {
			k += w.write(k)
		}
	}
	w.b.WriteString(s[w.last:])
	return w.b.String()
}

// dateWriter writes the dates of a text in its other words.
type dateWriter struct {
	*dateParser
	found []found
	b     strings.Builder
	last  int  // up to where s is written
	bare  bool // whether the date before was written without a preposition
}

// put writes words in the place of s[start:end], with a capital where s has one at
// the beginning of a sentence.
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

// before returns word n before token i if nothing but spaces stands between.
func (w *dateWriter) before(i, n int) string {
	for ; n > 0; n-- {
		if i--; i < 0 || w.s[w.toks[i].End:w.toks[i+1].Start] != " " {
			return ""
		}
	}
	return w.toks[i].low
}

// after returns token i if a space stands before it.
func (w *dateWriter) after(i int) string {
	if i <= 0 || i >= len(w.toks) || w.s[w.toks[i-1].End:w.toks[i].Start] != " " {
		return ""
	}
	return w.toks[i].low
}

var (
	// governing are words after which a date has no other preposition.
	governing = lazy.Words("since until till by before after from of during for around to between through throughout as than about over within towards toward against versus vs")
	// halves are words that stand before a month or a year and after a preposition.
	halves = lazy.Words("early late mid")
	// dateOwners stand before a noun and its attributes.
	dateOwners = lazy.Words("the a an my our your his her their its this that these those")
	// repeating are words after which a weekday or a month is any of that name, or
	// none: "every Friday", "Good Friday".
	repeating = lazy.Words("every each any most per one another weekly monthly usual regular recurring good black cyber ash holy maundy palm easter super")
	// hedges are words that make a point in time a limit.
	hedges = lazy.Words("over almost nearly than least most under barely roughly approximately")
	// spanning are words before a length of time.
	spanning = lazy.Words("for over in within during through throughout")
	// dateParts are the parts of a day.
	dateParts = lazy.Words("morning afternoon evening night")
	// beings are verbs before which a date is a subject.
	beings = lazy.Words("is was will has had isn wasn marks works sounds looks seems")
	// heads are words that begin a clause.
	heads = lazy.Words("and but that because so though although or")
	// unnamed are words that are not nouns after a date, beside stop words.
	unnamed = lazy.Words("noon midnight around work next last past this now instead too also then before after because until till since while when where outside again already together alone either latest onwards onward ago please thanks with without within during early late")
)

// noun reports whether token i is a noun that the date before it may belong to.
func (w *dateWriter) noun(i int) bool {
	low := w.after(i)
	switch {
	case len(low) < 3, stopWords.Has(low), unnamed.Has(low), governing.Has(low), beings.Has(low), dateWords.Has(low), low[0] < 'a' || low[0] > 'z',
		strings.HasSuffix(low, "ly"), strings.HasSuffix(low, "ed"), strings.HasSuffix(low, "ing") && len(low) > 4 && low != "meeting" && low != "training" && low != "hearing":
		return false
	}
	base, ok := irregular.Get()[low]
	return !ok || base == low || strings.HasSuffix(low, "s")
}

// plural reports whether token i, or the next, is a noun in the plural.
func (w *dateWriter) plural(i int) bool {
	for k := i; k < i+2 && (dateParts.Has(strings.TrimSuffix(w.after(k), "s")) || w.noun(k)); k++ {
		if low := w.after(k); strings.HasSuffix(low, "s") && !strings.HasSuffix(low, "ss") {
			return true
		}
	}
	return false
}

// owned reports whether the word before token i makes what follows its own: "my",
// "Ana's".
func (w *dateWriter) owned(i int) bool {
	low := w.before(i, 1)
	return dateOwners.Has(low) || low == "s" && i > 1 && w.genitive(i-1)
}

// genitive reports whether token i is the s of "Friday's".
func (w *dateWriter) genitive(i int) bool {
	if i < 1 || i >= len(w.toks) || w.toks[i].low != "s" {
		return false
	}
	between := w.s[w.toks[i-1].End:w.toks[i].Start]
	return between == "'" || between == "’"
}

// write writes found date k, and returns how many dates after it it wrote too.
func (w *dateWriter) write(k int) int {
	d := w.found[k]
	was := w.bare
	w.bare = false
	if w.stays(k) {
		return 0
	}
	i, j := d.token, d.token+d.tokens // its tokens
	start, end := w.toks[i].Start, d.End
	lead := "" // "on" or "in" as it stands
	if d.Start < start {
		lead, start = w.toks[i-1].low, d.Start
	}
	if w.spans(k) {
		w.through(k, start, lead)
		return 1
	}
	if words := w.lasting(d); words != "" {
		w.b.WriteString(w.s[w.last:d.End])
		w.b.WriteString(words)
		w.last = d.End
		return 0
	}
	part := ""
	if low := w.toks[j-1].low; j-i > 1 && dateParts.Has(low) {
		part = low
	} else if _, ok := weekdays[low]; ok && dateParts.Has(w.after(j)) {
		part = w.after(j)
		end = w.toks[j].End
		j++
	}
	at := d.point(part)
	if w.genitive(j) {
		w.possessive(k, i, j, start, lead, part)
		return 0
	}
	single := j-i == 1 || part != "" && j-i == 2
	if w.attributive(d, i, j, single) {
		w.attribute(k, j, start, end, part)
		return 0
	}
	// "the day before yesterday", "this coming Friday", "the 14th"
	if low := w.before(i, 1); lead == "" && (!single || digitAt(w.toks[i].low, 0)) && (low == "the" || low == "this") {
		start = w.toks[i-1].Start
		i--
		if low := w.before(i, 1); low == "on" || low == "in" {
			start = w.toks[i-1].Start
			i--
		}
	}
	prev := w.before(i, 1)
	switch {
	case lead != "":
		w.put(start, end, d.placed(part))
	case prev == "all":
		w.put(start, end, "of "+at)
	case halves.Has(prev) && d.Grain >= Month, governing.Has(prev), w.half(i):
		w.bare = true
		w.put(start, end, at)
	case (prev == "and" || prev == "or" || prev == "to") && was && k > 0 && w.toks[i-1].Start-w.found[k-1].End <= 1:
		w.bare = true
		w.put(start, end, at)
	case beings.Has(w.after(j)) && (prev == "" || heads.Has(prev)):
		w.put(start, end, at)
	default:
		w.put(start, end, d.placed(part))
	}
	return 0
}

// spans reports whether date k begins a range of days that the next one ends.
func (w *dateWriter) spans(k int) bool {
	if k+1 == len(w.found) {
		return false
	}
	a, b := w.found[k], w.found[k+1]
	if a.through {
		return true
	}
	if !w.ofMonth(a) || !w.ofMonth(b) || !a.From.Before(b.From) {
		return false
	}
	switch strings.TrimSpace(w.s[a.End:b.Start]) {
	case "-", "–", "—", "to", "through":
		return !w.moved(a.token)
	}
	return false
}

// ofMonth reports whether a date is written as a day of a month.
func (w *dateWriter) ofMonth(d found) bool {
	if d.Grain != Day || d.tokens < 2 {
		return false
	}
	low := w.toks[d.token].low
	return months[low] != 0 || digitAt(low, 0) && dateMonth(w.toks[d.token+1].low, w.toks[d.token+d.tokens-1].low)
}

func dateMonth(words ...string) bool {
	for _, low := range words {
		if months[low] != 0 {
			return true
		}
	}
	return false
}

// attributive reports whether a date, tokens i to j, belongs to the noun after it.
func (w *dateWriter) attributive(d found, i, j int, single bool) bool {
	low := w.toks[i].low
	if d.Start < w.toks[i].Start || !w.noun(j) || low == "day" {
		return false
	}
	if !w.owned(i) {
		return single && d.Grain == Day && weekdayName(low)
	}
	_, step := steps[low]
	return single || step || w.ofMonth(d)
}

func weekdayName(low string) bool { _, ok := weekdays[low]; return ok }

// point returns the date as a noun: "2026-05-03", "the week of 2026-05-04".
func (d Date) point(part string) string {
	_, words, _ := strings.Cut(d.String(), " ")
	if part != "" && d.Grain == Day {
		return "the " + part + " of " + words
	}
	return words
}

// placed returns the date with its preposition: "on 2026-05-03", "on the evening of
// 2026-05-03".
func (d Date) placed(part string) string {
	prep, _, _ := strings.Cut(d.String(), " ")
	return prep + " " + d.point(part)
}

// stays reports whether the words of a date are better left as they are: they name
// no one day, or we cannot tell which.
func (w *dateWriter) stays(k int) bool {
	d := w.found[k]
	i, j := d.token, d.token+d.tokens
	low, prev := w.toks[i].low, w.before(i, 1)
	_, weekday := weekdays[low]
	_, month := months[low]
	alone := d.tokens == 1 && (weekday || month)
	if r, _ := utf8.DecodeRuneInString(w.s[d.End:]); r == '-' && !d.through && d.End+1 < len(w.s) && w.s[d.End+1] > ' ' {
		return true // "the Monday-morning call"
	}
	if d.Start > 0 && strings.ContainsRune("-#@/", rune(w.s[d.Start-1])) && !(k > 0 && w.found[k-1].through) {
		return !w.half(i)
	}
	switch {
	case d.tokens == 2 && w.after(j) == "of" && dateWords.Has(w.toks[i+1].low) && steps[low] != 0:
		return true // "the last week of June"
	case !alone:
		return false
	case repeating.Has(prev), prev == "the" && (w.before(i, 2) == "every" || w.before(i, 2) == "usual"):
		return true
	case repeating.Has(w.before(i, 2)) && w.noun(j):
		return true // "our weekly team Friday call"
	case weekday && (w.recurs(k) || w.recursWith(k, -1) || w.recursWith(k, 1)):
		return true // "every second Monday", "Saturday and Sunday mornings"
	case (prev == "the" || prev == "a" || prev == "an") && !w.noun(j):
		return true // "it was a Friday", "the Friday after"
	case weekday && w.plural(j):
		return true // "Friday nights"
	case weekday && w.after(j) == "the" && j+1 < len(w.toks) && digitAt(w.toks[j+1].low, 0):
		return true // "Tuesday the 5th"
	case weekday && (w.ranged(k, 1) || w.ranged(k, -1)):
		return !w.moved(i)
	case month:
		return d.Start == w.toks[i].Start && !w.owned(i) && !halves.Has(prev) && !(governing.Has(prev) && prev != "to" && prev != "as" && prev != "than" && prev != "over" && prev != "about") && !(k > 0 && w.found[k-1].End+5 >= d.Start)
	}
	return false
}

// nth are words between "every" and a weekday.
var nth = lazy.Words("other second third fourth single")

// recurs reports whether date k is a weekday that comes again and again.
func (w *dateWriter) recurs(k int) bool {
	d := w.found[k]
	if d.tokens != 1 || !weekdayName(w.toks[d.token].low) {
		return false
	}
	prev := w.before(d.token, 1)
	return repeating.Has(prev) || nth.Has(prev) && repeating.Has(w.before(d.token, 2)) || w.plural(d.token+1)
}

// recursWith reports whether a weekday that date k is joined to recurs.
func (w *dateWriter) recursWith(k, step int) bool {
	for {
		a, b := min(k, k+step), max(k, k+step)
		if a < 0 || b >= len(w.found) || w.found[b].Start < w.found[a].End {
			return false
		}
		switch strings.TrimSpace(w.s[w.found[a].End:w.found[b].Start]) {
		case "and", "or", ",", ", and", "&", "/":
		default:
			return false
		}
		if k += step; w.recurs(k) {
			return true
		}
	}
}

// half reports whether token i is a month after "mid-" and its like.
func (w *dateWriter) half(i int) bool {
	return months[w.toks[i].low] != 0 && i > 0 && halves.Has(w.toks[i-1].low) && w.s[w.toks[i-1].End:w.toks[i].Start] == "-"
}

// ranged reports whether date k is an end of a range of weekdays, as working hours
// are told in.
func (w *dateWriter) ranged(k, step int) bool {
	a, b := k, k+step
	if step < 0 {
		a, b = b, a
	}
	if a < 0 || b >= len(w.found) || w.found[b].tokens != 1 || w.found[a].tokens != 1 || !weekdayName(w.toks[w.found[a].token].low) || !weekdayName(w.toks[w.found[b].token].low) {
		return false
	}
	switch strings.TrimSpace(w.s[w.found[a].End:w.found[b].Start]) {
	case "to", "through", "thru", "until", "till", "-", "–", "—":
		return true
	}
	return w.s[w.found[a].End:w.found[b].Start] == " and " && w.before(w.found[a].token, 1) == "between"
}

// lasting returns the bracket that is added to a length of time, or to a limit:
// "for the next week", "over a year ago".
func (w *dateWriter) lasting(d found) string {
	i := d.token
	low, prev := w.toks[i].low, w.before(i, 1)
	today := w.day.Format(time.DateOnly)
	if d.tokens == 2 && (d.Grain == Week || d.Grain == Month || d.Grain == Year) && dateWords.Has(w.toks[i+1].low) {
		switch {
		case low == "past", low == "last" && (prev == "the" || spanning.Has(prev) && prev != "over"):
			return " (until " + today + ")"
		case low == "next" && prev == "the" && spanning.Has(w.before(i, 2)):
			return " (from " + today + ")"
		}
	}
	if d.tokens > 2 && (hedges.Has(prev) && prev != "most" || hedges.Has(w.before(i, 2)) && prev == "about") || prev == "most" && w.before(i, 2) == "at" {
		return " (" + strings.TrimPrefix(d.point(""), "the ") + ")"
	}
	return ""
}

// through writes both ends of a range of days, found[k] and the next.
func (w *dateWriter) through(k, start int, lead string) {
	a, b := w.found[k], w.found[k+1]
	joint := w.s[a.End:b.Start]
	if strings.Trim(joint, " -–—") == "" {
		joint = " to "
	}
	words := a.From.Format(time.DateOnly) + joint + b.From.Format(time.DateOnly)
	prev := w.before(a.token, 1)
	if lead != "" || !governing.Has(prev) && !(w.owned(a.token) && w.noun(b.token+b.tokens)) {
		words = "from " + words
	}
	w.put(start, b.End, words)
}

// possessive writes "yesterday's meeting" as "the 2026-05-03 meeting", and "next
// week's meeting" as "the meeting in the week of 2026-05-11". The date's tokens are
// those from i up to j, where the s is.
func (w *dateWriter) possessive(k, i, j, start int, lead, part string) {
	d := w.found[k]
	s := w.toks[j]
	next := w.after(j + 1)
	if next != "" && (dateOwners.Has(next) || next == "not" || next == "going" || next == "been") { // "tomorrow's my birthday"
		w.put(start, s.End, d.point(part)+" is")
		return
	}
	the := "the "
	switch {
	case w.owned(i):
		the = ""
	case lead != "":
		the = lead + " the "
	}
	m := w.phraseEnd(k, j+1)
	switch {
	case next == "" || m == j+1:
		w.put(start, s.Start-len(w.s[w.toks[j-1].End:s.Start]), d.point(part))
	case d.Grain == Week || d.Grain == Weekend:
		w.put(start, w.toks[m-1].End, the+w.s[w.toks[j+1].Start:w.toks[m-1].End]+" "+d.String())
	case part != "":
		w.put(start, s.End, the+d.point("")+" "+part)
	default:
		w.put(start, s.End, the+d.point(""))
	}
}

// attribute writes a date before the noun it belongs to, token j: "our Friday
// chat". A week comes after the noun.
func (w *dateWriter) attribute(k, j, start, end int, part string) {
	d := w.found[k]
	if m := w.phraseEnd(k, j); (d.Grain == Week || d.Grain == Weekend) && m > j {
		w.put(start, w.toks[m-1].End, w.s[w.toks[j].Start:w.toks[m-1].End]+" "+d.String())
		return
	}
	words := d.point("")
	if part != "" {
		words += " " + part
	}
	w.put(start, end, words)
}

// phraseEnd returns the place after the nouns that begin at token j, at most three
// and none of another date.
func (w *dateWriter) phraseEnd(k, j int) int {
	m := j
	for m < j+3 && w.noun(m) && !(k+1 < len(w.found) && w.toks[m].End > w.found[k+1].Start) {
		m++
	}
	return m
}
