package text

import (
	"strings"
	"time"
)

// found is a date and the tokens that it was read from, without its preposition.
type found struct {
	Date
	token, tokens int
	through       bool // the next one ends what this one begins: "July 15–27"
}

// all returns the dates of a text in order.
func (p *dateParser) all() []found {
	var out []found
	for i := 0; i < len(p.toks); {
		if a, b, ok := p.range2(i); ok {
			out = append(out, p.begun(a), b)
			i = b.token + b.tokens
			continue
		}
		d, n := p.at(i)
		if n == 0 {
			i++
			continue
		}
		d.Start, d.End = p.toks[i].Start, p.toks[i+n-1].End
		f := found{Date: d, token: i, tokens: n}
		i += n
		if d.Relative {
			i = p.noted(&f)
		}
		out = append(out, p.begun(f))
	}
	return out
}

// begun returns a date with the preposition before it.
func (p *dateParser) begun(f found) found {
	if i := f.token; i > 0 && p.joined(i-1) && (p.toks[i-1].low == "on" || p.toks[i-1].low == "in") {
		f.Start = p.toks[i-1].Start
	}
	return f
}

// noted takes the date in brackets that [Absolute] writes after words that it
// leaves: it says what they mean, or since or until when. It returns the token to go
// on from.
func (p *dateParser) noted(f *found) int {
	next := f.token + f.tokens
	rest := p.s[f.End:]
	if !strings.HasPrefix(rest, " (") || next >= len(p.toks) || p.toks[next].Start != f.End+2 {
		return next
	}
	k := next
	if low := p.toks[k].low; low == "from" || low == "until" {
		k++
	}
	if k >= len(p.toks) {
		return next
	}
	d, n := p.at(k)
	if n == 0 || d.Relative {
		return next
	}
	end := p.toks[k+n-1].End
	if !strings.HasPrefix(p.s[end:], ")") {
		return next
	}
	if k > next {
		then := *p
		then.day = d.From
		d, _ = then.at(f.token)
	}
	d.Start, d.End, d.Relative = f.Start, end+1, false
	f.Date = d
	return k + n
}

// range2 reads both ends of a range of days in one month: "July 15–27", "from 15 to
// 27 July 2026".
func (p *dateParser) range2(i int) (a, b found, ok bool) {
	first, second := i, 0 // the tokens of the days
	var month time.Month
	if m, named := months[p.toks[i].low]; named {
		month, first = m, i+1
	}
	if first >= len(p.toks) || month != 0 && !p.joined(i) {
		return a, b, false
	}
	from, isDay := dayNumber(p.toks[first].low)
	if !isDay {
		return a, b, false
	}
	if second = p.rangeJoint(first, i); second == 0 {
		return a, b, false
	}
	to, isDay := dayNumber(p.toks[second].low)
	if !isDay || to <= from {
		return a, b, false
	}
	end := second + 1
	if month == 0 {
		if p.low(end) == "of" {
			end++
		}
		m, named := months[p.low(end)]
		if !named {
			return a, b, false
		}
		month = m
		end++
	} else if unit := p.low(end); unit == "am" || unit == "pm" || unit == "people" || unit == "days" || unit == "hours" {
		return a, b, false
	}
	year, given := yearNumber(p.low(end))
	if given {
		end++
	} else {
		year = p.nearestYear(month)
	}
	x, n := dayOf(year, month, from)
	y, m := dayOf(year, month, to)
	if n == 0 || m == 0 {
		return a, b, false
	}
	x.Relative, y.Relative = !given, !given
	x.Start, x.End = p.toks[i].Start, p.toks[first].End
	y.Start, y.End = p.toks[second].Start, p.toks[end-1].End
	return found{x, i, first + 1 - i, true}, found{Date: y, token: second, tokens: end - second}, true
}

// rangeJoint returns the token of the day that ends a range whose first day is token
// first, 0 if none follows. The whole begins at token i.
func (p *dateParser) rangeJoint(first, i int) int {
	if first+1 >= len(p.toks) {
		return 0
	}
	between := p.s[p.toks[first].End:p.toks[first+1].Start]
	switch between {
	case "-", "–", "—", " - ", " – ", " — ":
		return first + 1
	case " ":
	default:
		return 0
	}
	switch p.toks[first+1].low {
	case "to", "through", "thru", "until", "till":
	case "and":
		if i == 0 || p.toks[i-1].low != "between" {
			return 0
		}
	default:
		return 0
	}
	if first+2 >= len(p.toks) || !p.joined(first+1) {
		return 0
	}
	return first + 2
}

// within reads "the week of 7 May", "the weekend of 2026-05-02" and "the evening of
// May 7th": the week or weekend that the day is in, or the day.
func (p *dateParser) within(i int) (Date, int) {
	unit := p.toks[i].low
	if unit != "week" && unit != "weekend" && !dateParts.Has(unit) || p.low(i+1) != "of" || p.low(i+2) == "" {
		return Date{}, 0
	}
	d, n := p.dated(i + 2)
	if n == 0 {
		return Date{}, 0
	}
	relative := d.Relative
	day := *p
	day.day = d.From
	switch unit {
	case "week":
		d = day.unit("week", 0)
	case "weekend":
		d, _ = day.period("weekend", 0)
	}
	d.Relative = relative
	return d, n + 2
}

// dated reads a day of a month at token i.
func (p *dateParser) dated(i int) (Date, int) {
	if p.low(i) == "" {
		return Date{}, 0
	}
	for _, read := range [...]func(*dateParser, int) (Date, int){(*dateParser).numeric, (*dateParser).dayMonth, (*dateParser).monthDay} {
		if d, n := read(p, i); n > 0 {
			if d.Grain != Day {
				n = 0 // a month is not a day
			}
			return d, n
		}
	}
	return Date{}, 0
}

// ofWeek reads what makes a weekday, the token before i, that of another week:
// "Tuesday next week", "Friday of last week".
func (p *dateParser) ofWeek(wd time.Weekday, i int) (Date, int) {
	n := 0
	if w := p.low(i); w == "of" || w == "in" {
		n++
	}
	step, ok := steps[p.low(i+n)]
	if !ok || p.low(i+n+1) != "week" {
		return Date{}, 0
	}
	d := p.days(p.monday().AddDate(0, 0, 7*step+(int(wd)+6)%7), 1)
	d.Relative = true
	return d, n + 2
}
