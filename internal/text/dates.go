package text

import "time"

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
// fits, absolute ones as they are. A range within a month ("July 15–27") is two dates.
// Vague phrases ("a few years ago", "recently")
// are left out.
func Resolve(s string, said time.Time) []Date {
	p := dateParser{s: s, day: midnight(said)}
	if !p.tokenize() {
		return nil
	}
	all := p.all()
	if len(all) == 0 {
		return nil
	}
	out := make([]Date, len(all))
	for i, f := range all {
		out[i] = f.Date
	}
	return out
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
