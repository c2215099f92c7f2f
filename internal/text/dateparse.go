package text

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
)

var months = map[string]time.Month{
	"january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7,
	"august": 8, "september": 9, "october": 10, "november": 11, "december": 12,
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9,
	"oct": 10, "nov": 11, "dec": 12,
}

var weekdays = map[string]time.Weekday{
	"sunday": 0, "monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6,
}

// shortWeekdays are read where they can be no other word: see [dateParser.weekdayOf].
var shortWeekdays = map[string]time.Weekday{
	"sun": 0, "mon": 1, "tue": 2, "tues": 2, "wed": 3, "weds": 3, "thu": 4, "thur": 4, "thurs": 4, "fri": 5, "sat": 6,
}

var seasons = map[string]time.Month{"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}

// dateWords are the words without which no phrase is a date, beside months,
// weekdays, seasons and numbers.
var dateWords = lazy.Words("today tonight yesterday tomorrow ago morning afternoon evening night now day week weekend month year days weeks months years")

type token struct {
	Span
	low string
}

// dateParser reads date phrases at a token. Its methods return a date and how
// many tokens it took, 0 if there is none.
type dateParser struct {
	s    string
	day  time.Time // that the words were said on
	toks []token
}

// tokenize reports whether any word may be part of a date, so that most texts
// cost one pass and no memory.
func (p *dateParser) tokenize() bool {
	if !mayDate(p.s) {
		return false
	}
	all := spans(p.s)
	p.toks = make([]token, len(all))
	for i, w := range all {
		p.toks[i] = token{w, strings.ToLower(w.Of(p.s))}
	}
	return true
}

// longestDateWord is what no word of a date is longer than, in bytes.
const longestDateWord = 12

// mayDate reports whether a word of s may be part of a date.
func mayDate(s string) bool {
	var low [longestDateWord]byte
	for i := 0; i < len(s); {
		if c := s[i]; c >= utf8.RuneSelf || !inWord[c] {
			i++
			continue
		}
		end := i
		for end < len(s) && s[end] < utf8.RuneSelf && inWord[s[end]] {
			end++
		}
		if n := end - i; n <= longestDateWord {
			for j := range n {
				low[j] = s[i+j]
				if 'A' <= low[j] && low[j] <= 'Z' {
					low[j] += 'a' - 'A'
				}
			}
			if word := low[:n]; dateWords.All()[string(word)] || isDate(word) || digitAt(s, end-1) && digitAt(s, i) && dotted(s, end) {
				return true
			}
		}
		i = end
	}
	return false
}

// dotted reports whether a point and a digit follow, as in 07.05.2023.
func dotted(s string, i int) bool { return i < len(s) && s[i] == '.' && digitAt(s, i+1) }

func isDate(low []byte) bool {
	_, month := months[string(low)]
	_, day := weekdays[string(low)]
	_, short := shortWeekdays[string(low)]
	_, season := seasons[string(low)]
	return month || day || short || season || low[0] >= '0' && low[0] <= '9' && (len(low) >= 4 || ordinal(string(low)))
}

// joined reports whether nothing but a space, comma or dash stands between token
// i and the next.
func (p *dateParser) joined(i int) bool {
	if i < 0 || i+1 >= len(p.toks) {
		return false
	}
	between := p.s[p.toks[i].End:p.toks[i+1].Start]
	return between == " " || between == ", " || between == "," || between == "-" || between == "/"
}

// low returns token i in lower case, if it is joined to the one before.
func (p *dateParser) low(i int) string {
	if i < len(p.toks) && (i == 0 || p.joined(i-1)) {
		return p.toks[i].low
	}
	return ""
}

// readers are tried in order.
var readers = [...]func(*dateParser, int) (Date, int){
	(*dateParser).numeric, (*dateParser).dayMonth, (*dateParser).monthDay, (*dateParser).named, (*dateParser).ofPeriod, (*dateParser).within,
	(*dateParser).ago, (*dateParser).ahead, (*dateParser).weekday, (*dateParser).dayAlone, (*dateParser).season, (*dateParser).year,
}

func (p *dateParser) at(i int) (Date, int) {
	for _, read := range readers {
		if d, n := read(p, i); n > 0 {
			return d, n
		}
	}
	return Date{}, 0
}

func (p *dateParser) days(from time.Time, n int) Date {
	return Date{From: from, To: from.AddDate(0, 0, n)}
}

// named reads today, yesterday, last night and the like.
func (p *dateParser) named(i int) (Date, int) {
	day := func(offset, n int) (Date, int) {
		d := p.days(p.day.AddDate(0, 0, offset), 1)
		d.Relative = true
		return d, n
	}
	part := func(n int) int { // "yesterday evening" is one phrase
		switch p.low(i + n) {
		case "morning", "afternoon", "evening", "night":
			return n + 1
		}
		return n
	}
	switch p.toks[i].low {
	case "today", "tonight":
		return day(0, 1)
	case "yesterday":
		return day(-1, part(1))
	case "tomorrow":
		return day(1, part(1))
	case "this":
		if n := part(1); n == 2 {
			return day(0, 2)
		}
	case "last":
		if p.low(i+1) == "night" {
			return day(-1, 2)
		}
	case "day":
		switch p.low(i+1) + " " + p.low(i+2) {
		case "before yesterday":
			return day(-2, 3)
		case "after tomorrow":
			return day(2, 3)
		}
	}
	return Date{}, 0
}

var steps = map[string]int{"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}

// ofPeriod reads last, this or next with a week, weekend, month, year, weekday,
// month's name or season.
func (p *dateParser) ofPeriod(i int) (Date, int) {
	step, ok := steps[p.toks[i].low]
	unit := p.low(i + 1)
	if !ok || unit == "" {
		return Date{}, 0
	}
	d, ok := p.period(unit, step)
	if !ok || unit == "may" && step == 0 && afterMay(p.low(i+2)) {
		return Date{}, 0
	}
	d.Relative = true
	if wd, ok := weekdays[unit]; ok {
		if named, n := p.dated(i + 2); n > 0 && named.From.Weekday() == wd { // "next Friday, May 15"
			return named, n + 2
		}
	}
	return d, 2
}

// afterMay reports whether "may" before a word is a verb: "this may not heal".
func afterMay(w string) bool {
	switch w {
	case "not", "be", "have", "help", "take", "well", "also", "never", "need", "mean", "change", "work", "cause", "sound", "seem", "make", "still", "just", "explain", "matter":
		return true
	}
	return false
}

func (p *dateParser) period(unit string, step int) (Date, bool) {
	switch unit {
	case "weekend":
		saturday := p.monday().AddDate(0, 0, 5+7*step)
		if step < 0 && !p.day.After(saturday) { // on a Sunday, last weekend is not today
			saturday = p.monday().AddDate(0, 0, -2)
		}
		return Date{From: saturday, To: saturday.AddDate(0, 0, 2), Grain: Weekend}, true
	case "week", "month", "year":
		return p.unit(unit, step), true
	}
	if wd, ok := weekdays[unit]; ok {
		return p.days(p.weekdayAt(wd, step), 1), true
	}
	if m, ok := months[unit]; ok && len(unit) > 3 || unit == "may" {
		return monthOf(p.yearOf(m, step), m), true
	}
	if m, ok := seasons[unit]; ok {
		return seasonOf(p.yearOf(m+2, step), m), true
	}
	return Date{}, false
}

// unit returns the whole week, month or year n from the one of p.day.
func (p *dateParser) unit(unit string, n int) Date {
	switch unit {
	case "week":
		from := p.monday().AddDate(0, 0, 7*n)
		return Date{From: from, To: from.AddDate(0, 0, 7), Grain: Week}
	case "month":
		first := p.day.AddDate(0, 0, 1-p.day.Day()).AddDate(0, n, 0)
		return monthOf(first.Year(), first.Month())
	default:
		return yearDate(p.day.Year() + n)
	}
}

func (p *dateParser) monday() time.Time {
	return p.day.AddDate(0, 0, -(int(p.day.Weekday())+6)%7)
}

// weekdayAt returns the weekday before (step < 0), from (0) or after p.day.
func (p *dateParser) weekdayAt(wd time.Weekday, step int) time.Time {
	ahead := (int(wd-p.day.Weekday()) + 7) % 7
	switch {
	case step < 0:
		ahead -= 7
	case step > 0 && ahead == 0:
		ahead = 7
	}
	return p.day.AddDate(0, 0, ahead)
}

// yearOf returns the year of the last, this year's or the next month of that name.
func (p *dateParser) yearOf(m time.Month, step int) int {
	m = (m-1)%12 + 1
	year := p.day.Year()
	if step < 0 && m >= p.day.Month() {
		return year - 1
	}
	if step > 0 && m <= p.day.Month() {
		return year + 1
	}
	return year
}

// ago reads "3 days ago", "a week ago", "a couple of months ago".
func (p *dateParser) ago(i int) (Date, int) {
	count, n := p.count(i)
	if n == 0 || p.low(i+n+1) != "ago" {
		return Date{}, 0
	}
	d, ok := p.shifted(p.low(i+n), -count)
	if !ok {
		return Date{}, 0
	}
	return d, n + 2
}

// ahead reads "in 3 days", "in two weeks" and "3 days from now".
func (p *dateParser) ahead(i int) (Date, int) {
	if p.toks[i].low == "in" {
		count, n := p.count(i + 1)
		if n == 0 {
			return Date{}, 0
		}
		d, ok := p.shifted(p.low(i+1+n), count)
		if !ok {
			return Date{}, 0
		}
		if k := i + n + 2; k < len(p.toks) && p.toks[k].low == "time" && strings.Trim(p.s[p.toks[k-1].End:p.toks[k].Start], " '’") == "" {
			return d, n + 3 // "in two weeks' time"
		}
		return d, n + 2
	}
	count, n := p.count(i)
	if n == 0 || p.low(i+n+1) != "from" || p.low(i+n+2) != "now" {
		return Date{}, 0
	}
	if d, ok := p.shifted(p.low(i+n), count); ok {
		return d, n + 3
	}
	return Date{}, 0
}

// count reads a number of units.
func (p *dateParser) count(i int) (count, n int) {
	low := p.low(i)
	switch {
	case i >= len(p.toks):
		return 0, 0
	case low == "a" && p.low(i+1) == "couple":
		if p.low(i+2) == "of" {
			return 2, 3
		}
		return 2, 2
	case low == "a" || low == "an" || low == "one":
		return 1, 1
	case numberWords[low] != "":
		low = numberWords[low]
	}
	if !digitAt(low, 0) {
		return 0, 0
	}
	count, err := strconv.Atoi(low)
	if err != nil || count <= 0 || count > 1000 {
		return 0, 0
	}
	return count, 1
}

func (p *dateParser) shifted(unit string, n int) (Date, bool) {
	unit = strings.TrimSuffix(unit, "s")
	switch unit {
	case "day":
		d := p.days(p.day.AddDate(0, 0, n), 1)
		d.Relative = true
		return d, true
	case "week", "month", "year":
		d := p.unit(unit, n)
		d.Relative = true
		return d, true
	}
	return Date{}, false
}

// weekday reads a bare weekday: the next one, or the last one where the words
// before it are about the past.
func (p *dateParser) weekday(i int) (Date, int) {
	wd, ok := p.weekdayOf(i)
	if !ok {
		return Date{}, 0
	}
	if d, n := p.dated(i + 1); n > 0 && d.From.Weekday() == wd && !(i > 0 && p.toks[i-1].low == "every") { // "Friday, May 8"
		return d, n + 1
	}
	if d, n := p.ofWeek(wd, i+1); n > 0 {
		return d, n + 1
	}
	step := 0
	if p.past(i) && !p.moved(i) {
		step = -1
	}
	d := p.days(p.weekdayAt(wd, step), 1)
	d.Relative = true
	return d, 1
}

// weekdayOf returns the weekday that token i names. A short name counts before a time or a
// part of the day, and behind "on", "by" and the like: "sun", "sat" and "wed" are words too.
func (p *dateParser) weekdayOf(i int) (time.Weekday, bool) {
	low := p.toks[i].low
	if wd, ok := weekdays[low]; ok {
		return wd, true
	}
	wd, ok := shortWeekdays[low]
	if !ok {
		return 0, false
	}
	switch next := p.low(i + 1); {
	case next == "morning", next == "afternoon", next == "evening", next == "night", next == "at", digitAt(next, 0):
		return wd, true
	}
	if i == 0 || low == "sun" {
		return 0, false
	}
	switch p.toks[i-1].low {
	case "on", "by", "until", "till", "til", "next", "last", "this", "every", "for", "from", "since", "to":
		return wd, true
	}
	return 0, false
}

// ordinal reports whether a word is a day of a month such as "20th".
func ordinal(low string) bool {
	_, ok := dayNumber(low)
	return ok && !digitAt(low, len(low)-1)
}

// dayAlone reads "the 20th" and "til the 20th": the next such day, or the last one where the
// words before it are about the past. Behind it no word may follow that it counts.
func (p *dateParser) dayAlone(i int) (Date, int) {
	if !ordinal(p.toks[i].low) || i < 2 || p.toks[i-1].low != "the" {
		return Date{}, 0
	}
	switch p.toks[i-2].low {
	case "on", "by", "until", "till", "til", "from", "since", "before", "after", "to":
	default:
		return Date{}, 0
	}
	if next := p.low(i + 1); next != "" && !dateFollows.Has(next) {
		return Date{}, 0
	}
	day, _ := dayNumber(p.toks[i].low)
	step := 1
	if p.past(i) {
		step = -1
	}
	first := p.day.AddDate(0, 0, 1-p.day.Day())
	for range 13 {
		d, n := dayOf(first.Year(), first.Month(), day)
		if n > 0 && (step > 0 && !d.From.Before(p.day) || step < 0 && d.From.Before(p.day)) {
			d.Relative = true
			return d, 1
		}
		first = first.AddDate(0, step, 0)
	}
	return Date{}, 0
}

// dateFollows are words that may follow a date: what else follows an ordinal is counted by it.
var dateFollows = lazy.Words("and or but so at in i we he she they it then because if when with for is was will to from on by until")

// moving are verbs of what is put on another day.
var moving = lazy.Words("move moves moved moving push pushes pushed pushing change changes changed changing shift shifts shifted shifting postpone postponed reschedule rescheduled rescheduling extend extended extending delay delayed")

// moved reports whether the words before token i tell of something that was put on
// another day: what it was moved from and to is to come.
func (p *dateParser) moved(i int) bool {
	if i == 0 || p.toks[i-1].low != "to" && p.toks[i-1].low != "from" && p.toks[i-1].low != "until" {
		return false
	}
	for j := i - 1; j >= 0 && j > i-10; j-- {
		if moving.Has(p.toks[j].low) {
			return true
		}
	}
	return false
}

// past reports whether the words near before token i are in a past tense.
func (p *dateParser) past(i int) bool { return p.tense(i) == passed }

// tense is what the words before a date say of when it is.
type tense int

const (
	untold tense = iota
	passed
	comes
)

// tense returns what the nearest word before token i says that tells.
func (p *dateParser) tense(i int) tense {
	for j := i - 1; j >= 0 && j >= i-12; j-- {
		low := p.toks[j].low
		if endsClause(p.s[p.toks[j].End:p.toks[j+1].Start]) {
			return untold
		}
		switch low {
		case "will", "going", "gonna", "shall", "ll", "plan", "plans", "planning", "planned", "hope", "hoping", "tomorrow", "want", "upcoming", "due", "scheduled", "booked", "til", "until", "till", "moving", "starts", "start", "begins", "ends", "gets", "comes", "takes", "opens", "arrives", "leaves", "flies", "expires", "is", "are":
			return comes
		case "married", "engaged", "excited": // how one is or becomes
			continue
		case "from":
			return untold
		case "was", "were", "since", "did", "had", "got", "said":
			return passed
		}
		if strings.HasSuffix(low, "ing") && j > 0 && present.Has(p.toks[j-1].low) { // "I'm flying to Rome"
			return comes
		}
		if base, ok := irregular.Get()[low]; ok && base != low && stemmable(low) && !strings.HasSuffix(low, "s") {
			return passed
		}
		if len(low) > 4 && strings.HasSuffix(low, "ed") && !(j > 0 && becoming.Has(p.toks[j-1].low)) {
			return passed
		}
	}
	return untold
}

// endsClause reports whether a clause ends between two words: what is told before it
// says nothing of when the date is.
func endsClause(between string) bool { return strings.ContainsAny(between, ",;.!?:()\n") }

// becoming are words after which a participle tells of no past: "getting married".
var becoming = lazy.Words("get getting gets be being")

// present are the forms of "be" before what is going on or to come.
var present = lazy.Words("am is are m re")
