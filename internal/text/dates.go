package text

import (
	"strings"
	"time"
)

// Precision is the precision of a date: a day, a month and so on.
type Precision int

// The precisions of dates, finest first.
const (
	Day Precision = iota
	Weekend
	Week
	Month
	Season
	Year
)

// Date is a phrase that names a date or period, with its meaning.
type Date struct {
	Span                 // the bytes of the phrase, including its preposition
	From, To   time.Time // the days [From, To) in UTC
	Precision  Precision
	IsRelative bool // the meaning depends on the reference day
}

// ResolveDates returns the dates in s in order, without overlaps. Relative dates count from the reference day;
// days and months without a year mean the nearest such date. A range within a month ("July 15–27") gives two
// dates. Vague phrases ("a few years ago", "recently") are not dates.
func ResolveDates(s string, reference time.Time) []Date {
	var out []Date
	for _, f := range newDateParser(s, reference).allDates() {
		out = append(out, f.Date)
	}
	return out
}

// String returns the date as a phrase that does not depend on the current day: "on 2026-05-03", "in the week
// of 2026-05-04", "in May 2026", "in summer 2026", "in 2026".
func (d Date) String() string {
	switch d.Precision {
	case Weekend:
		return "on the weekend of " + d.From.Format(time.DateOnly)
	case Week:
		return "in the week of " + d.From.Format(time.DateOnly)
	case Month:
		return "in " + d.From.Format("January 2006")
	case Season:
		season := [...]string{"winter", "spring", "summer", "autumn"}[d.From.Month()/3%4]
		return "in " + season + d.To.AddDate(0, 0, -1).Format(" 2006")
	case Year:
		return "in " + d.From.Format("2006")
	default:
		return "on " + d.From.Format(time.DateOnly)
	}
}

// nounPhrase returns the date as a noun: "2026-05-03", "the week of 2026-05-04", or, with partOfDay, "the evening of
// 2026-05-03".
func (d Date) nounPhrase(partOfDay string) string {
	_, words, _ := strings.Cut(d.String(), " ")
	if partOfDay != "" && d.Precision == Day {
		return "the " + partOfDay + " of " + words
	}
	return words
}

// withPreposition returns the date with its preposition: "on 2026-05-03", "on the evening of 2026-05-03".
func (d Date) withPreposition(partOfDay string) string {
	prep, _, _ := strings.Cut(d.String(), " ")
	return prep + " " + d.nounPhrase(partOfDay)
}

// periodAfter returns the period of this precision that is n periods after the period of day. It does
// not support seasons.
func periodAfter(precision Precision, day time.Time, n int) Date {
	monday := day.AddDate(0, 0, 7*n-(int(day.Weekday())+6)%7)
	var d Date
	switch precision {
	case Day:
		d = dayRange(day.AddDate(0, 0, n), 1)
	case Weekend:
		d = dayRange(monday.AddDate(0, 0, 5), 2)
	case Week:
		d = dayRange(monday, 7)
	case Month:
		d = monthRange(day.Year(), day.Month()+time.Month(n), 1)
	case Year:
		d = monthRange(day.Year()+n, 1, 12)
	}
	d.Precision, d.IsRelative = precision, true
	return d
}

func dayRange(from time.Time, n int) Date { return Date{From: from, To: from.AddDate(0, 0, n)} }

// monthRange returns the period of n months from month m: a month (1), a season (3) or a year (12).
func monthRange(year int, m time.Month, n int) Date {
	from := time.Date(year, m, 1, 0, 0, 0, 0, time.UTC)
	return Date{From: from, To: from.AddDate(0, n, 0), Precision: map[int]Precision{1: Month, 3: Season, 12: Year}[n]}
}

// seasonOf returns the season of three months from month m. A winter belongs to the year in which it ends.
func seasonOf(year int, m time.Month) Date { return monthRange(year-int(m)/12, m, 3) }

// dayOf returns a day, or the zero Date if the day does not exist.
func dayOf(year int, m time.Month, day int) Date {
	from := time.Date(year, m, day, 0, 0, 0, 0, time.UTC)
	if from.Month() != m || from.Day() != day {
		return Date{}
	}
	return dayRange(from, 1)
}
