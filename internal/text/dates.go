package text

import (
	"strings"
	"time"
)

// Grain is how exact a date is.
type Grain int

// The grains, finest first.
const (
	Day Grain = iota
	Weekend
	Week
	Month
	Season
	Year
)

// Date is a phrase that names a time, and what it means.
type Date struct {
	Span               // the phrase's bytes, with its preposition where it has one
	From, To time.Time // [From, To), whole days in UTC
	Grain    Grain
	Relative bool // means something else when said on another day
}

// Resolve returns the date phrases of s in order, none overlapping: relative ones
// as meant on the day of said, days and months without a year as the nearest that
// fits, absolute ones as they are. Vague phrases ("a few years ago", "recently")
// are left out.
func Resolve(s string, said time.Time) []Date {
	p := dateParser{s: s, day: midnight(said)}
	if !p.tokenize() {
		return nil
	}
	var out []Date
	for i := 0; i < len(p.toks); {
		d, n := p.at(i)
		if n == 0 {
			i++
			continue
		}
		d.Start, d.End = p.toks[i].Start, p.toks[i+n-1].End
		if i > 0 && p.joined(i-1) && (p.toks[i-1].low == "on" || p.toks[i-1].low == "in") {
			d.Start = p.toks[i-1].Start
		}
		out = append(out, d)
		i += n
	}
	return out
}

// Absolute returns s with relative dates written out as meant on the day of said:
// "yesterday" as "on 2026-05-03", "last month" as "in April 2026". A preposition
// that stands before the phrase is kept ("since last year": "since 2025").
func Absolute(s string, said time.Time) string {
	var b strings.Builder
	last := 0
	for _, d := range Resolve(s, said) {
		if !d.Relative {
			continue
		}
		b.WriteString(s[last:d.Start])
		phrase := d.String()
		if opensWithPreposition(s[:d.Start]) {
			_, phrase, _ = strings.Cut(phrase, " ")
		}
		if first := s[d.Start]; strings.TrimSpace(s[:d.Start]) == "" && 'A' <= first && first <= 'Z' {
			phrase = strings.ToUpper(phrase[:1]) + phrase[1:]
		}
		b.WriteString(phrase)
		last = d.End
	}
	b.WriteString(s[last:])
	return b.String()
}

// opensWithPreposition reports whether the text before a date ends in a word that
// makes another preposition wrong.
func opensWithPreposition(before string) bool {
	switch before[strings.LastIndexByte(strings.TrimRight(before, " "), ' ')+1:] {
	case "since ", "until ", "till ", "by ", "before ", "after ", "from ", "of ", "during ", "for ", "around ", "to ", "between ", "early ", "late ":
		return true
	}
	return false
}

// String returns the date as a phrase that means the same on any day: "on
// 2026-05-03", "in the week of 2026-05-04", "in May 2026", "in summer 2026",
// "in 2026".
func (d Date) String() string {
	switch d.Grain {
	case Weekend:
		return "on the weekend of " + d.From.Format(time.DateOnly)
	case Week:
		return "in the week of " + d.From.Format(time.DateOnly)
	case Month:
		return "in " + d.From.Format("January 2006")
	case Season:
		return "in " + seasonNames[(int(d.From.Month())/3)%4] + " " + d.To.AddDate(0, 0, -1).Format("2006")
	case Year:
		return "in " + d.From.Format("2006")
	default:
		return "on " + d.From.Format(time.DateOnly)
	}
}

var seasonNames = [4]string{"winter", "spring", "summer", "autumn"}

func midnight(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}
