package text

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// token is a word of a text with its date class.
type token struct {
	Span
	low string
	dateWord
}

// dateParser finds the dates in a text.
type dateParser struct {
	s    string
	day  time.Time // the reference day
	toks []token   // empty if the text has no date word
}

func newDateParser(s string, reference time.Time) *dateParser {
	y, m, d := reference.Date()
	p := &dateParser{s: s, day: time.Date(y, m, d, 0, 0, 0, 0, time.UTC)}
	if mayDate(s) { // for most texts this takes one pass and allocates nothing
		p.tokenize()
	}
	return p
}

func (p *dateParser) tokenize() {
	all := WordSpans(p.s)
	p.toks = make([]token, len(all))
	for i, w := range all {
		low := strings.ToLower(w.Of(p.s))
		p.toks[i] = token{w, low, dateWords()[low]}
	}
}

// adjoinsNext reports whether token i and the next token can be in one date: only a space, comma, dash or
// slash separates them, or the apostrophe in "two weeks' time".
func (p *dateParser) adjoinsNext(i int) bool {
	switch p.between(i) {
	case " ", ", ", ",", "-", "/", "' ", "’ ":
		return true
	}
	return false
}

// between returns the text between token i and the next token.
func (p *dateParser) between(i int) string { return p.s[p.toks[i].End:p.toks[i+1].Start] }

// foundDate is a date with the tokens that express it, without the preposition.
type foundDate struct {
	Date
	token, tokens int
	dayOfMonth    bool // the phrase has a day and a month
	through       bool // the next date is the end of a range: "July 15–27"
}

// all returns the dates of the text in order.
func (p *dateParser) all() []foundDate {
	var out []foundDate
	for i := 0; i < len(p.toks); {
		dates := p.at(i, dateForms())
		for k, d := range dates {
			i = d.token + d.tokens
			d.Start, d.End = p.toks[d.token].Start, p.toks[i-1].End
			if at := d.token; k == 0 && at > 0 && p.adjoinsNext(at-1) && (p.toks[at-1].low == "on" || p.toks[at-1].low == "in") {
				d.Start = p.toks[at-1].Start
			}
			out = append(out, d)
		}
		if dates == nil {
			i++
		}
	}
	return out
}

// at returns the date, or both ends of a range, of the first form that matches at token i; nil for no match.
func (p *dateParser) at(i int, forms []dateForm) []foundDate {
	if t := p.toks[i]; t.class == "" && !digitAt(t.low, 0) && numberWords[t.low] == "" && !counting.Has(t.low) {
		return nil
	}
	for _, form := range forms {
		m := match{i: i}
		if !p.match(form.words, &m) {
			continue
		}
		d := form.date(p, m)
		if d.To.IsZero() {
			continue
		}
		dayOfMonth := form.is("MONTH") && form.is("DAY")
		if form.until == nil {
			return []foundDate{{Date: d, token: i, tokens: m.end - i, dayOfMonth: dayOfMonth}}
		}
		if to := form.until(p, m); to.From.After(d.From) {
			return []foundDate{{d, i, m.half - i, dayOfMonth, true},
				{Date: to, token: m.to, tokens: m.end - m.to, dayOfMonth: dayOfMonth}}
		}
	}
	return nil
}

// match is the result of matching a form at a token.
type match struct {
	i, end   int    // the tokens [i, end) of the form
	half, to int    // for a range: the end of its first date and the beginning of its last, in tokens
	v        [5]int // the numbers of the form's classes in order; 0 for an optional class that is missing
	inner    Date   // the value of DATE in the form
}

// match reports whether the tokens from m.i match the words of a form, and fills m.
func (p *dateParser) match(words []string, m *match) bool {
	k, n, free := m.i, 0, true // free: whether a gap is allowed before token k
	for _, word := range words {
		word, optional := strings.CutSuffix(word, "?")
		took := 0
		if word == "TO" {
			if took = p.rangeJoint(k, m.i); took < 0 {
				return false
			}
			m.half, m.to, free = k, k+took, true
			k += took
			continue
		}
		if k < len(p.toks) && (free || p.adjoinsNext(k-1)) {
			var v int
			if v, took = p.matchToken(word, k, m); took > 0 && word[0] < 'a' {
				m.v[n] = v
			}
		}
		if took == 0 && !optional {
			return false
		}
		if word[0] < 'a' {
			n++
		}
		if took > 0 {
			k, free = k+took, false
		}
	}
	m.end = k
	return true
}

// matchToken matches token k with a word or class. It returns the token's number and the number of tokens.
func (p *dateParser) matchToken(word string, k int, m *match) (v, took int) {
	t := p.toks[k]
	ok := false
	switch word {
	case "DAY":
		v, ok = dayNumber(t.low)
	case "ORDINAL":
		v, ok = dayNumber(t.low)
		ok = ok && !digitAt(t.low, len(t.low)-1)
	case "YEAR":
		v, ok = yearNumber(t.low)
	case "COUNT":
		v, ok = count(t.low)
	case "POINTS":
		_, err := time.Parse("2.1.2006", t.low)
		ok = len(t.low) > 5 && err == nil
	case "DATE":
		if d := p.at(k, dayForms()); d != nil {
			m.inner = d[0].Date
			return 0, d[0].tokens
		}
	case "WEEKDAY":
		v, ok = t.n, t.class == word || t.class == "SHORT" && p.shortWeekday(k)
	case "UNITS":
		v, ok = t.n, t.class == word || t.class == "UNIT"
	default:
		v, ok = t.n, t.class == word || t.low == word
	}
	if ok {
		took = 1
	}
	return v, took
}

// rangeJoint returns how many tokens from token k join the two ends of a range that begins at token i: 0 for
// a dash, 1 for a word, -1 for no range.
func (p *dateParser) rangeJoint(k, i int) int {
	if k >= len(p.toks) {
		return -1
	}
	switch p.between(k - 1) {
	case "-", "–", "—", " - ", " – ", " — ":
		return 0
	case " ":
	default:
		return -1
	}
	switch low := p.toks[k].low; {
	case k+1 == len(p.toks) || !p.adjoinsNext(k):
	case low == "to", low == "through", low == "thru", low == "until", low == "till",
		low == "and" && i > 0 && p.toks[i-1].low == "between":
		return 1
	}
	return -1
}

// shortWeekday reports whether token i is an abbreviated weekday: before a time or a part of the day, and
// after "on", "by" and the like. "Sun", "sat" and "wed" may also be other words.
func (p *dateParser) shortWeekday(i int) bool {
	if i+1 < len(p.toks) && p.adjoinsNext(i) {
		if next := p.toks[i+1]; next.class == "PART" || next.low == "at" || digitAt(next.low, 0) {
			return true
		}
	}
	return i > 0 && p.toks[i].low != "sun" && beforeDay.Has(p.toks[i-1].low)
}

// weekday returns the next weekday wd (1 for Sunday), or, after words about the past, the previous one. After
// "to" ("moved to Friday") it is always the next.
func (p *dateParser) weekday(i, wd int) Date {
	if p.tense(i) == passed && p.toks[i-1].low != "to" {
		return p.weekdayAt(wd, -1)
	}
	return p.weekdayAt(wd, 0)
}

// sameWeekday returns the date after a weekday, or no date if the date has another weekday.
func (p *dateParser) sameWeekday(m match) Date {
	wd := m.v[0]
	if m.v[1] > 0 { // the words contain "next"
		wd = m.v[1]
	}
	if int(m.inner.From.Weekday()) != wd-1 || m.i > 0 && p.toks[m.i-1].low == "every" {
		return Date{}
	}
	return m.inner
}

// ofWeek returns a weekday of another week: "Tuesday next week", "Friday of last week".
func (p *dateParser) ofWeek(m match) Date {
	return period(Day, period(Week, p.day, m.v[1]-2).From, (m.v[0]+5)%7)
}

// bareYear returns a year without a month, unless the number is an amount.
func (p *dateParser) bareYear(m match) Date {
	if at := p.toks[m.i].Start; at > 0 && strings.ContainsRune("$€£#", rune(p.s[at-1])) ||
		m.end < len(p.toks) && p.adjoinsNext(m.i) && countedWords.Has(p.toks[m.end].low) {
		return Date{}
	}
	return monthsFrom(m.v[0], 1, 12)
}

// weekdayAt returns weekday wd (1 for Sunday) before p.day if step < 0, from p.day on if 0, otherwise after p.day.
func (p *dateParser) weekdayAt(wd, step int) Date {
	ahead := (wd - 1 - int(p.day.Weekday()) + 7) % 7
	switch {
	case step < 0:
		ahead -= 7
	case step > 0 && ahead == 0:
		ahead = 7
	}
	return period(Day, p.day, ahead)
}

// dayInMonth returns a day of a month. If year is 0, the words before token i determine the year.
func (p *dateParser) dayInMonth(i, year, month, day int) Date {
	hasYear := year > 0
	if !hasYear {
		year = p.yearOfMonth(i, month)
	}
	d := dayOf(year, time.Month(month), day)
	d.Relative = !hasYear
	return d
}

// dayAlone returns the next day with this number in a month ("til the 20th"), or, after words about the past,
// the previous one. It returns no date if the ordinal counts a thing ("the 2nd floor").
func (p *dateParser) dayAlone(i, day int) Date {
	if i < 2 || p.toks[i-1].low != "the" || !beforeOrdinal.Has(p.toks[i-2].low) ||
		i+1 < len(p.toks) && p.adjoinsNext(i) && !wordsAfterDate.Has(p.toks[i+1].low) {
		return Date{}
	}
	step := 1
	if p.tense(i) == passed {
		step = -1
	}
	for n := 0; ; n += step {
		month := period(Month, p.day, n).From
		if d := dayOf(month.Year(), month.Month(), day); !d.To.IsZero() && (step < 0) == d.From.Before(p.day) {
			d.Relative = true
			return d
		}
	}
}

// bareMonth returns a month without a day. Abbreviations, and March and May as verbs, are no months.
func (p *dateParser) bareMonth(i, month int) Date {
	low, capital := p.toks[i].low, p.s[p.toks[i].Start] < 'a'
	verb := low == "may" || low == "march" || low == "mar"
	if !capital && verb || (!capital || verb || len(low) < 4 || low == "sept") &&
		(i == 0 || !beforeMonth.Has(p.toks[i-1].low)) {
		return Date{}
	}
	d := monthsFrom(p.yearOfMonth(i, month), time.Month(month), 1)
	d.Relative = true
	return d
}

// yearOfMonth returns the year for a month without a year at token i: of the previous such month after words
// about the past, of the next one after words about the future, otherwise of the nearest.
func (p *dateParser) yearOfMonth(i, month int) int {
	year, diff := p.day.Year(), month-int(p.day.Month())
	switch t := p.tense(i); {
	case t == comes && diff < 0, t == untold && diff < -6:
		return year + 1
	case t == passed && diff > 0, t == untold && diff > 6:
		return year - 1
	}
	return year
}

// yearOf returns the year of the previous (step < 0), this year's (0) or next (step > 0) month with this number.
func (p *dateParser) yearOf(month, step int) int {
	switch now := int(p.day.Month()); {
	case step < 0 && month >= now:
		return p.day.Year() - 1
	case step > 0 && month <= now:
		return p.day.Year() + 1
	}
	return p.day.Year()
}

// tense is past or future, according to the words before a date.
type tense int

const (
	untold tense = iota
	passed
	comes
)

// tense returns the tense of the nearest word before token i that suggests one.
func (p *dateParser) tense(i int) tense {
	for j := i - 1; j >= 0 && j >= i-12; j-- {
		low, before := p.toks[j].low, ""
		if strings.ContainsAny(p.between(j), ",;.!?:()\n") { // the next word belongs to another clause
			return untold
		}
		if j > 0 {
			before = p.toks[j-1].low
		}
		base, ok := irregular()[low]
		switch {
		case toCome.Has(low), strings.HasSuffix(low, "ing") && presentBe.Has(before): // "I'm flying to Rome"
			return comes
		case low == "from":
			return untold
		case low == "married", low == "engaged", low == "excited": // states and changes of state
		case isPast.Has(low), ok && base != low && stemmable(low) && !strings.HasSuffix(low, "s"),
			len(low) > 4 && strings.HasSuffix(low, "ed") && !becomingVerbs.Has(before):
			return passed
		}
	}
	return untold
}

// mayDate reports whether a word of s may be part of a date.
func mayDate(s string) bool {
	var low [12]byte // no date word is longer
	n := 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] < utf8.RuneSelf && inWord[s[i]] {
			if n < len(low) {
				low[n] = s[i] | ' '
			}
			n++
			continue
		}
		if n > 0 && n <= len(low) && beginsDate(low[:n]) {
			return true
		}
		n = 0
	}
	return false
}

func beginsDate(low []byte) bool {
	if '0' <= low[0] && low[0] <= '9' {
		return len(low) >= 4 || low[len(low)-1] > '9'
	}
	return dateClass(string(low)) != ""
}

func yearNumber(low string) (int, bool) {
	if len(low) != 4 || low < "1900" || low > "2099" {
		return 0, false
	}
	year, err := strconv.Atoi(low)
	return year, err == nil
}

func dayNumber(low string) (int, bool) {
	if !digitAt(low, 0) || len(low) > 4 {
		return 0, false
	}
	if n := len(low) - 2; n > 0 && slices.Contains([]string{"st", "nd", "rd", "th"}, low[n:]) {
		low = low[:n]
	}
	day, err := strconv.Atoi(low)
	return day, err == nil && len(low) <= 2 && day >= 1 && day <= 31
}

// count parses a number of units.
func count(low string) (int, bool) {
	if low == "a" || low == "an" || low == "one" {
		return 1, true
	}
	if n := numberWords[low]; n != "" {
		low = n
	}
	if !digitAt(low, 0) {
		return 0, false
	}
	n, err := strconv.Atoi(low)
	return n, err == nil && n > 0 && n <= 1000
}
