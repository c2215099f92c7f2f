package index

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// marksOf returns what a text shows beside its words.
func marksOf(content string) memory.Marks {
	var m memory.Marks
	if text.Asks(content) {
		m |= memory.MarkAsks
	}
	return m
}

// marksOfSubject returns what a memory shows by whom it is about.
func marksOfSubject(m memory.Memory) memory.Marks {
	switch {
	case m.Fact != nil && m.Fact.Subject != "" && !strings.EqualFold(m.Fact.Subject, "user"),
		m.Turn != nil && m.Turn.Role == memory.RoleUser && text.AboutAnother(m.Turn.Content):
		return memory.MarkOther
	}
	return 0
}

// maxMoments bounds what is kept of a long text full of dates.
const maxMoments = 8

// appendMoments appends what the dates in a text mean. A span of days that is no
// whole month or year is known by the day it begins on.
func appendMoments(out []memory.Moment, content string, said time.Time) []memory.Moment {
	if said.IsZero() {
		return out
	}
	for i, d := range text.Resolve(content, said) {
		if i == maxMoments {
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
