package recall

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Period is a date in a question, with its precision.
type Period struct {
	memory.PartialDate           // the year, month and day that all days of the period have; 0 for none
	From, To           time.Time // the days [From, To) of a week, weekend or season; zero for other periods
}

// questionPeriods returns the dates in a question.
func questionPeriods(question string, now time.Time) []Period {
	var out []Period
	for _, d := range text.ResolveDates(question, now) {
		p := Period{PartialDate: memory.PartialDate{Year: int16(d.From.Year()), Month: int8(d.From.Month()), Day: int8(d.From.Day())}}
		switch d.Precision {
		case text.Year:
			p.Month, p.Day = 0, 0
		case text.Season:
			p.Month, p.Day, p.From, p.To = 0, 0, d.From, d.To
		case text.Month:
			p.Day = 0
			if d.IsRelative && !namesYear(d.Slice(question)) && !relativeMonth.MatchString(strings.ToLower(d.Slice(question))) {
				p.Year = 0 // "in May" means May of any year
			}
		case text.Week, text.Weekend:
			p.Day, p.From, p.To = 0, d.From, d.To
		case text.Day:
			if d.IsRelative && hasDigit(d.Slice(question)) && !namesYear(d.Slice(question)) && !strings.Contains(d.Slice(question), "ago") {
				p.Year = 0 // "on 7 May" means that day of any year
			}
		}
		out = append(out, p)
	}
	return out
}

// matchParts returns how many parts of a period (year, month, day, From to To) a date matches, and the number of parts.
// A date between From and To matches all parts, because a week may end in the next month.
func (p *Period) matchParts(date memory.PartialDate) (matched, parts int) {
	for _, part := range [...][2]int{{int(p.Year), int(date.Year)}, {int(p.Month), int(date.Month)}, {int(p.Day), int(date.Day)}} {
		if part[0] == 0 {
			continue
		}
		parts++
		if part[0] == part[1] {
			matched++
		}
	}
	if p.From.IsZero() {
		return matched, parts
	}
	parts++
	if p.includes(date) {
		matched = parts
	}
	return matched, parts
}

// includes reports whether a date is between From and To.
func (p *Period) includes(date memory.PartialDate) bool {
	if date.Year == 0 || date.Month == 0 || date.Day == 0 && p.Month != 0 { // a month may be part of a season but not of a week
		return false
	}
	day := time.Date(int(date.Year), time.Month(date.Month), max(1, int(date.Day)), 0, 0, 0, 0, time.UTC)
	return !day.Before(p.From) && day.Before(p.To)
}

var relativeMonth = lazy.Compile(`\b(last|this|next|past|previous|coming|ago|in \w+ months)\b`)

var yearForm = lazy.Compile(`\b(19|20)\d\d\b`)

func namesYear(s string) bool { return yearForm.MatchString(s) }

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
