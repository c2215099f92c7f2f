package text

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// dateToken is a word of a text with its date class.
type dateToken struct {
	Span
	lower string
	dateWord
}

// dateParser finds the dates in a text.
type dateParser struct {
	text         string
	referenceDay time.Time   // midnight UTC of the day from which relative dates count
	tokens       []dateToken // empty if the text has no date word
}

func newDateParser(s string, reference time.Time) *dateParser {
	y, m, d := reference.Date()
	p := &dateParser{text: s, referenceDay: time.Date(y, m, d, 0, 0, 0, 0, time.UTC)}
	if mayContainDate(s) { // for most texts this takes one pass and allocates nothing
		p.tokenize()
	}
	return p
}

func (p *dateParser) tokenize() {
	all := WordSpans(p.text)
	p.tokens = make([]dateToken, len(all))
	for i, w := range all {
		low := strings.ToLower(w.Slice(p.text))
		p.tokens[i] = dateToken{w, low, dateWords()[low]}
	}
}

// canJoinNext reports whether token i and the next token can be in one date: only a space, comma, dash or slash
// separates them, or the apostrophe in "two weeks' time".
func (p *dateParser) canJoinNext(i int) bool {
	switch p.textAfter(i) {
	case " ", ", ", ",", "-", "/", "' ", "’ ":
		return true
	}
	return false
}

// textAfter returns the text between token i and the next token.
func (p *dateParser) textAfter(i int) string { return p.text[p.tokens[i].End:p.tokens[i+1].Start] }

// foundDate is a date with the tokens that express it, without the preposition.
type foundDate struct {
	Date
	firstToken, tokenCount int
	hasDayAndMonth         bool // the phrase has a day and a month
	beginsRange            bool // the next date is the end of a range: "July 15–27"
}

// allDates returns the dates of the text in order.
func (p *dateParser) allDates() []foundDate {
	var out []foundDate
	for i := 0; i < len(p.tokens); {
		dates := p.datesAt(i, dateForms())
		for k, d := range dates {
			i = d.firstToken + d.tokenCount
			d.Start, d.End = p.tokens[d.firstToken].Start, p.tokens[i-1].End
			if at := d.firstToken; k == 0 && at > 0 && p.canJoinNext(at-1) && (p.tokens[at-1].lower == "on" || p.tokens[at-1].lower == "in") {
				d.Start = p.tokens[at-1].Start
			}
			out = append(out, d)
		}
		if dates == nil {
			i++
		}
	}
	return out
}

// datesAt returns the date, or both ends of a range, of the first form that matches at token i; nil for no match.
func (p *dateParser) datesAt(i int, forms []dateForm) []foundDate {
	if t := p.tokens[i]; t.class == "" && !isDigitAt(t.lower, 0) && numberWords[t.lower] == "" && !countWords.Has(t.lower) {
		return nil
	}
	for _, form := range forms {
		m := dateMatch{start: i}
		if !p.matchWords(form.words, &m) {
			continue
		}
		d := form.computeDate(p, m)
		if d.To.IsZero() {
			continue
		}
		dayOfMonth := form.hasWord("MONTH") && form.hasWord("DAY")
		if form.computeRangeEnd == nil {
			return []foundDate{{Date: d, firstToken: i, tokenCount: m.end - i, hasDayAndMonth: dayOfMonth}}
		}
		if to := form.computeRangeEnd(p, m); to.From.After(d.From) {
			return []foundDate{{d, i, m.firstEnd - i, dayOfMonth, true},
				{Date: to, firstToken: m.lastStart, tokenCount: m.end - m.lastStart, hasDayAndMonth: dayOfMonth}}
		}
	}
	return nil
}

// dateMatch is the result of matching a form at a token.
type dateMatch struct {
	start, end          int    // the tokens [i, end) of the form
	firstEnd, lastStart int    // for a range: the token indexes of the end of its first date and the start of its last date
	numbers             [5]int // the numbers of the form's classes in order; 0 for an optional class that is missing
	innerDate           Date   // the value of DATE in the form
}

// matchWords reports whether the tokens from m.start match the words of a form, and fills m.
func (p *dateParser) matchWords(words []string, m *dateMatch) bool {
	k, n, mayHaveGap := m.start, 0, true // mayHaveGap: other text is allowed before token k
	for _, word := range words {
		word, optional := strings.CutSuffix(word, "?")
		length := 0
		if word == "TO" {
			if length = p.rangeJointLength(k, m.start); length < 0 {
				return false
			}
			m.firstEnd, m.lastStart, mayHaveGap = k, k+length, true
			k += length
			continue
		}
		if k < len(p.tokens) && (mayHaveGap || p.canJoinNext(k-1)) {
			var v int
			if v, length = p.matchToken(word, k, m); length > 0 && word[0] < 'a' {
				m.numbers[n] = v
			}
		}
		if length == 0 && !optional {
			return false
		}
		if word[0] < 'a' {
			n++
		}
		if length > 0 {
			k, mayHaveGap = k+length, false
		}
	}
	m.end = k
	return true
}

// matchToken matches token k with a word or class. It returns the token's number and the number of tokens.
func (p *dateParser) matchToken(word string, k int, m *dateMatch) (number, length int) {
	t := p.tokens[k]
	ok := false
	switch word {
	case "DAY":
		number, ok = dayNumber(t.lower)
	case "ORDINAL":
		number, ok = dayNumber(t.lower)
		ok = ok && !isDigitAt(t.lower, len(t.lower)-1)
	case "YEAR":
		number, ok = yearNumber(t.lower)
	case "COUNT":
		number, ok = parseCount(t.lower)
	case "POINTS":
		_, err := time.Parse("2.1.2006", t.lower)
		ok = len(t.lower) > 5 && err == nil
	case "DATE":
		if d := p.datesAt(k, dayForms()); d != nil {
			m.innerDate = d[0].Date
			return 0, d[0].tokenCount
		}
	case "WEEKDAY":
		number, ok = t.number, t.class == word || t.class == "SHORT" && p.isShortWeekday(k)
	case "UNITS":
		number, ok = t.number, t.class == word || t.class == "UNIT"
	default:
		number, ok = t.number, t.class == word || t.lower == word
	}
	if ok {
		length = 1
	}
	return number, length
}

// rangeJointLength returns how many tokens from token k join the two ends of a range that begins at token i: 0
// for a dash, 1 for a word, -1 for no range.
func (p *dateParser) rangeJointLength(k, i int) int {
	if k >= len(p.tokens) {
		return -1
	}
	switch p.textAfter(k - 1) {
	case "-", "–", "—", " - ", " – ", " — ":
		return 0
	case " ":
	default:
		return -1
	}
	switch low := p.tokens[k].lower; {
	case k+1 == len(p.tokens) || !p.canJoinNext(k):
	case low == "to", low == "through", low == "thru", low == "until", low == "till",
		low == "and" && i > 0 && p.tokens[i-1].lower == "between":
		return 1
	}
	return -1
}

// isShortWeekday reports whether token i is an abbreviated weekday: before a time or a part of the day, and after
// "on", "by" and the like. "Sun", "sat" and "wed" may also be other words.
func (p *dateParser) isShortWeekday(i int) bool {
	if i+1 < len(p.tokens) && p.canJoinNext(i) {
		if next := p.tokens[i+1]; next.class == "PART" || next.lower == "at" || isDigitAt(next.lower, 0) {
			return true
		}
	}
	return i > 0 && p.tokens[i].lower != "sun" && beforeDay.Has(p.tokens[i-1].lower)
}

// bareWeekday returns the next day with the number weekday (1 for Sunday) or, after words about the past, the last
// such day. After "to" ("moved to Friday") the next weekday is always meant.
func (p *dateParser) bareWeekday(i, weekday int) Date {
	if p.impliedTense(i) == pastTense && p.tokens[i-1].lower != "to" {
		return p.weekdayAt(weekday, -1)
	}
	return p.weekdayAt(weekday, 0)
}

// dateOnWeekday returns the date after a weekday, or no date if the date has another weekday.
func (p *dateParser) dateOnWeekday(m dateMatch) Date {
	wd := m.numbers[0]
	if m.numbers[1] > 0 { // the words contain "next"
		wd = m.numbers[1]
	}
	if int(m.innerDate.From.Weekday()) != wd-1 || m.start > 0 && p.tokens[m.start-1].lower == "every" {
		return Date{}
	}
	return m.innerDate
}

// weekdayOfWeek returns a weekday of another week: "Tuesday next week", "Friday of last week".
func (p *dateParser) weekdayOfWeek(m dateMatch) Date {
	return periodAfter(Day, periodAfter(Week, p.referenceDay, m.numbers[1]-2).From, (m.numbers[0]+5)%7)
}

// bareYear returns a year without a month, unless the number is an amount.
func (p *dateParser) bareYear(m dateMatch) Date {
	if at := p.tokens[m.start].Start; at > 0 && strings.ContainsRune("$€£#", rune(p.text[at-1])) ||
		m.end < len(p.tokens) && p.canJoinNext(m.start) && countedWords.Has(p.tokens[m.end].lower) {
		return Date{}
	}
	return monthRange(m.numbers[0], 1, 12)
}

// weekdayAt returns a weekday (1 for Sunday) before the reference day (step < 0), from that day on (0), or after it.
func (p *dateParser) weekdayAt(weekday, step int) Date {
	ahead := (weekday - 1 - int(p.referenceDay.Weekday()) + 7) % 7
	switch {
	case step < 0:
		ahead -= 7
	case step > 0 && ahead == 0:
		ahead = 7
	}
	return periodAfter(Day, p.referenceDay, ahead)
}

// dayInMonth returns a day of a month. If year is 0, the words before token i determine the year.
func (p *dateParser) dayInMonth(i, year, month, day int) Date {
	hasYear := year > 0
	if !hasYear {
		year = p.impliedYear(i, month)
	}
	d := dayOf(year, time.Month(month), day)
	d.IsRelative = !hasYear
	return d
}

// ordinalDay returns the next day with this number in a month ("til the 20th"), or, after words about the past,
// the previous one. It returns no date if the ordinal counts a thing ("the 2nd floor").
func (p *dateParser) ordinalDay(i, day int) Date {
	if i < 2 || p.tokens[i-1].lower != "the" || !beforeOrdinal.Has(p.tokens[i-2].lower) ||
		i+1 < len(p.tokens) && p.canJoinNext(i) && !wordsAfterDate.Has(p.tokens[i+1].lower) {
		return Date{}
	}
	step := 1
	if p.impliedTense(i) == pastTense {
		step = -1
	}
	for n := 0; ; n += step {
		month := periodAfter(Month, p.referenceDay, n).From
		if d := dayOf(month.Year(), month.Month(), day); !d.To.IsZero() && (step < 0) == d.From.Before(p.referenceDay) {
			d.IsRelative = true
			return d
		}
	}
}

// bareMonth returns a month without a day. Abbreviations, and March and May as verbs, are no months.
func (p *dateParser) bareMonth(i, month int) Date {
	low, capital := p.tokens[i].lower, p.text[p.tokens[i].Start] < 'a'
	verb := low == "may" || low == "march" || low == "mar"
	if !capital && verb || (!capital || verb || len(low) < 4 || low == "sept") &&
		(i == 0 || !beforeMonth.Has(p.tokens[i-1].lower)) {
		return Date{}
	}
	d := monthRange(p.impliedYear(i, month), time.Month(month), 1)
	d.IsRelative = true
	return d
}

// impliedYear returns the year for a month without a year at token i: of the previous such month after words
// about the past, of the next one after words about the future, otherwise of the nearest.
func (p *dateParser) impliedYear(i, month int) int {
	year, diff := p.referenceDay.Year(), month-int(p.referenceDay.Month())
	switch t := p.impliedTense(i); {
	case t == futureTense && diff < 0, t == noTense && diff < -6:
		return year + 1
	case t == pastTense && diff > 0, t == noTense && diff > 6:
		return year - 1
	}
	return year
}

// yearOfStep returns the year of the previous (step < 0), this year's (0) or next (step > 0) month with this number.
func (p *dateParser) yearOfStep(month, step int) int {
	switch now := int(p.referenceDay.Month()); {
	case step < 0 && month >= now:
		return p.referenceDay.Year() - 1
	case step > 0 && month <= now:
		return p.referenceDay.Year() + 1
	}
	return p.referenceDay.Year()
}

// tense is whether the words before a date are about the past or the future.
type tense int

const (
	noTense tense = iota
	pastTense
	futureTense
)

// impliedTense returns the tense that words before token i imply: "will", "was". The nearest such word decides.
func (p *dateParser) impliedTense(i int) tense {
	for j := i - 1; j >= 0 && j >= i-12; j-- {
		low, before := p.tokens[j].lower, ""
		if strings.ContainsAny(p.textAfter(j), ",;.!?:()\n") { // the next word belongs to another clause
			return noTense
		}
		if j > 0 {
			before = p.tokens[j-1].lower
		}
		base, ok := irregular()[low]
		switch {
		case futureWords.Has(low), strings.HasSuffix(low, "ing") && presentBe.Has(before): // "I'm flying to Rome"
			return futureTense
		case low == "from":
			return noTense
		case low == "married", low == "engaged", low == "excited": // the word may be about the past or the future
		case pastWords.Has(low), ok && base != low && canStem(low) && !strings.HasSuffix(low, "s"),
			len(low) > 4 && strings.HasSuffix(low, "ed") && !becomingVerbs.Has(before):
			return pastTense
		}
	}
	return noTense
}

// mayContainDate reports whether a word of s may be part of a date.
func mayContainDate(s string) bool {
	var low [12]byte // no date word is longer
	n := 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] < utf8.RuneSelf && isWordASCII[s[i]] {
			if n < len(low) {
				low[n] = s[i] | ' '
			}
			n++
			continue
		}
		if n > 0 && n <= len(low) && mayBeginDate(low[:n]) {
			return true
		}
		n = 0
	}
	return false
}

func mayBeginDate(word []byte) bool {
	if '0' <= word[0] && word[0] <= '9' {
		return len(word) >= 4 || word[len(word)-1] > '9'
	}
	return dateClass(string(word)) != ""
}

func yearNumber(word string) (int, bool) {
	if len(word) != 4 || word < "1900" || word > "2099" {
		return 0, false
	}
	year, err := strconv.Atoi(word)
	return year, err == nil
}

func dayNumber(word string) (int, bool) {
	if !isDigitAt(word, 0) || len(word) > 4 {
		return 0, false
	}
	if n := len(word) - 2; n > 0 && slices.Contains([]string{"st", "nd", "rd", "th"}, word[n:]) {
		word = word[:n]
	}
	day, err := strconv.Atoi(word)
	return day, err == nil && len(word) <= 2 && day >= 1 && day <= 31
}

// parseCount parses a number of units.
func parseCount(word string) (int, bool) {
	if word == "a" || word == "an" || word == "one" {
		return 1, true
	}
	if n := numberWords[word]; n != "" {
		word = n
	}
	if !isDigitAt(word, 0) {
		return 0, false
	}
	n, err := strconv.Atoi(word)
	return n, err == nil && n > 0 && n <= 1000
}
