package index

import (
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

func marksOf(content string) memory.Marks {
	var m memory.Marks
	for _, mark := range []struct {
		bit  memory.Marks
		test func(string) bool
	}{
		{memory.MarkAsks, text.Asks},
		{memory.MarkTimes, text.SpeaksOfTime},
		{memory.MarkNumbers, func(s string) bool { return len(text.Numbers(s)) > 0 }},
		{memory.MarkPlaces, text.NamesPlace},
		{memory.MarkQuotes, text.Quotes},
	} {
		if mark.test(content) {
			m |= mark.bit
		}
	}
	return m
}

// maxMoments bounds what is kept of a long text full of dates.
const maxMoments = 8

// moments returns what the dates in a text mean. A span of days that is no whole
// month or year is known by the day it begins on.
func moments(content string, said time.Time) []memory.Moment {
	if said.IsZero() {
		return nil
	}
	var out []memory.Moment
	for _, d := range text.Resolve(content, said) {
		if len(out) == maxMoments {
			break
		}
		m := memory.Moment{Year: int16(d.From.Year())}
		if d.Grain < text.Season {
			m.Month = int8(d.From.Month())
		}
		if d.Grain < text.Week {
			m.Day = int8(d.From.Day())
		}
		out = append(out, m)
	}
	return out
}
