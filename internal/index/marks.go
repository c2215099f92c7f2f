package index

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// textMarks returns the marks that depend on a text alone.
func marksOf(content string) memory.Marks {
	var m memory.Marks
	if text.Asks(content) {
		m |= memory.MarkAsks
	}
	return m
}

// subjectMarks returns the marks that depend on whom a memory is about.
func marksOfSubject(m memory.Memory) memory.Marks {
	switch {
	case m.Fact != nil && m.Fact.Subject != "" && !strings.EqualFold(m.Fact.Subject, "user"),
		m.Turn != nil && m.Turn.Role == memory.RoleUser && text.AboutAnother(m.Turn.Content):
		return memory.MarkOther
	}
	return 0
}

// maxMoments bounds the dates stored for a long text.
const maxMoments = 8

// appendMoments appends the dates in a text, relative to origin. A range of days counts as its
// first day, unless it is a whole month or year.
func appendMoments(out []memory.Moment, content string, origin time.Time) []memory.Moment {
	if origin.IsZero() {
		return out
	}
	for i, d := range text.Resolve(content, origin) {
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
