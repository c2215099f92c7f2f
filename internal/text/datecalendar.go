package text

import (
	"strconv"
	"strings"
	"time"
)

// numeric reads 2023-05-07, 2023/05/07 and 07.05.2023, which the tokenizer gives
// as one token or three.
func (p *dateParser) numeric(i int) (Date, int) {
	if !digitAt(p.toks[i].low, 0) { // parsing what is not a number costs an error
		return Date{}, 0
	}
	if y, m, d, ok := threeNumbers(strings.Split(p.toks[i].low, ".")); ok {
		return dayOf(d, time.Month(m), y) // day first, as where points are used
	}
	if i+2 < len(p.toks) && p.joined(i) && p.joined(i+1) && len(p.toks[i].low) == 4 {
		year, err1 := strconv.Atoi(p.toks[i].low)
		month, err2 := strconv.Atoi(p.toks[i+1].low)
		day, err3 := strconv.Atoi(p.toks[i+2].low)
		if err1 == nil && err2 == nil && err3 == nil {
			d, n := dayOf(year, time.Month(month), day)
			return d, 3 * n
		}
	}
	return Date{}, 0
}

func threeNumbers(parts []string) (a, b, c int, ok bool) {
	if len(parts) != 3 || len(parts[2]) != 4 {
		return 0, 0, 0, false
	}
	a, err1 := strconv.Atoi(parts[0])
	b, err2 := strconv.Atoi(parts[1])
	c, err3 := strconv.Atoi(parts[2])
	return a, b, c, err1 == nil && err2 == nil && err3 == nil
}

// dayMonth reads "7 May 2023", "7th of May".
func (p *dateParser) dayMonth(i int) (Date, int) {
	day, ok := dayNumber(p.toks[i].low)
	if !ok {
		return Date{}, 0
	}
	n := 1
	if p.low(i+n) == "of" {
		n++
	}
	m, ok := months[p.low(i+n)]
	if !ok {
		return Date{}, 0
	}
	n++
	return p.withYear(i, n, day, m)
}

// monthDay reads "May 7, 2023", "May 7th", "May 2023" and a bare month's name.
func (p *dateParser) monthDay(i int) (Date, int) {
	m, ok := months[p.toks[i].low]
	if !ok {
		return Date{}, 0
	}
	if day, ok := dayNumber(p.low(i + 1)); ok {
		return p.withYear(i, 2, day, m)
	}
	if year, ok := yearNumber(p.low(i + 1)); ok {
		return monthOf(year, m), 2
	}
	if !p.bareMonth(i) {
		return Date{}, 0
	}
	d := monthOf(p.yearOfMonth(i, m), m)
	d.Relative = true
	return d, 1
}

// bareMonth reports whether a month's name alone means the month: not an
// abbreviation, and March and May only where they are not verbs.
func (p *dateParser) bareMonth(i int) bool {
	word := p.toks[i].Of(p.s)
	low := strings.ToLower(word)
	capital := word[0] >= 'A' && word[0] <= 'Z'
	if capital && low != "may" && low != "march" && (len(word) > 4 || low == "june" || low == "july") {
		return true
	}
	if i == 0 || !capital && (low == "may" || low == "march" || low == "mar") {
		return false
	}
	switch p.toks[i-1].low {
	case "in", "of", "since", "until", "till", "til", "by", "before", "after", "during", "early", "late", "mid", "from", "for":
		return true
	}
	return false
}

// withYear finishes a day of a month, with the year that follows or the nearest.
func (p *dateParser) withYear(i, n, day int, m time.Month) (Date, int) {
	year, ok := yearNumber(p.low(i + n))
	if ok {
		n++
	} else {
		year = p.yearOfMonth(i, m)
	}
	d, valid := dayOf(year, m, day)
	if valid == 0 {
		return Date{}, 0
	}
	d.Relative = !ok
	return d, n
}

// yearOfMonth returns the year of a month without one at token i: the last such month
// where the words before it are about the past, the next where they are about what
// is to come, and otherwise the nearest.
func (p *dateParser) yearOfMonth(i int, m time.Month) int {
	switch t := p.tense(i); {
	case t == comes && m < p.day.Month():
		return p.day.Year() + 1
	case t == passed && m > p.day.Month():
		return p.day.Year() - 1
	case t != untold:
		return p.day.Year()
	}
	return p.nearestYear(m)
}

// nearestYear returns the year in which month m is nearest to p.day.
func (p *dateParser) nearestYear(m time.Month) int {
	year, diff := p.day.Year(), int(m-p.day.Month())
	switch {
	case diff > 6:
		return year - 1
	case diff < -6:
		return year + 1
	}
	return year
}

// season reads "summer of 2022" and "winter 2023".
func (p *dateParser) season(i int) (Date, int) {
	m, ok := seasons[p.toks[i].low]
	if !ok {
		return Date{}, 0
	}
	n := 1
	if p.low(i+n) == "of" {
		n++
	}
	year, ok := yearNumber(p.low(i + n))
	if !ok {
		return Date{}, 0
	}
	return seasonOf(year, m), n + 1
}

// year reads a plain year, unless it counts something.
func (p *dateParser) year(i int) (Date, int) {
	year, ok := yearNumber(p.toks[i].low)
	if !ok || i > 0 && p.toks[i].Start > 0 && strings.ContainsRune("$€£#", rune(p.s[p.toks[i].Start-1])) {
		return Date{}, 0
	}
	switch p.low(i + 1) {
	case "dollars", "euros", "people", "words", "steps", "miles", "km", "kilometers", "calories", "times":
		return Date{}, 0
	}
	return yearDate(year), 1
}

func yearNumber(low string) (int, bool) {
	if len(low) != 4 || !digitAt(low, 3) || low < "1900" || low > "2099" {
		return 0, false
	}
	year, err := strconv.Atoi(low)
	return year, err == nil
}

func dayNumber(low string) (int, bool) {
	if !digitAt(low, 0) {
		return 0, false
	}
	for _, ending := range []string{"st", "nd", "rd", "th"} {
		low = strings.TrimSuffix(low, ending)
	}
	day, err := strconv.Atoi(low)
	return day, err == nil && len(low) <= 2 && day >= 1 && day <= 31
}

func dayOf(year int, m time.Month, day int) (Date, int) {
	from := time.Date(year, m, day, 0, 0, 0, 0, time.UTC)
	if year < 1000 || year > 9999 || from.Month() != m || from.Day() != day {
		return Date{}, 0
	}
	return Date{From: from, To: from.AddDate(0, 0, 1)}, 1
}

func monthOf(year int, m time.Month) Date {
	from := time.Date(year, m, 1, 0, 0, 0, 0, time.UTC)
	return Date{From: from, To: from.AddDate(0, 1, 0), Grain: Month}
}

func yearDate(year int) Date {
	from := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	return Date{From: from, To: from.AddDate(1, 0, 0), Grain: Year}
}

// seasonOf returns the three months from m on. A winter has the year it ends in.
func seasonOf(year int, m time.Month) Date {
	if m == 12 {
		year--
	}
	from := time.Date(year, m, 1, 0, 0, 0, 0, time.UTC)
	return Date{From: from, To: from.AddDate(0, 3, 0), Grain: Season}
}
