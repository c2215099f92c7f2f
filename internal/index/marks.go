package index

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// textMarks returns the marks that depend on a text alone.
func textMarks(content string) memory.TextFlags {
	var m memory.TextFlags
	if text.EndsInQuestionMark(content) {
		m |= memory.FlagQuestion
	}
	return m
}

// subjectMarks returns the marks that depend on whom a memory is about.
func subjectMarks(m memory.Memory) memory.TextFlags {
	switch {
	case m.Fact != nil && m.Fact.Subject != "" && !strings.EqualFold(m.Fact.Subject, "user"),
		m.Turn != nil && m.Turn.Role == memory.RoleUser && text.IsAboutAnother(m.Turn.Content):
		return memory.FlagOtherPerson
	}
	return 0
}

// maxMoments bounds the dates stored for a long text.
const maxMoments = 8

// appendMoments appends the dates in a text, relative to origin. A range of days counts as its
// first day, unless it is a whole month or year.
func appendMoments(out []memory.PartialDate, content string, origin time.Time) []memory.PartialDate {
	if origin.IsZero() {
		return out
	}
	for i, d := range text.ResolveDates(content, origin) {
		if i == maxMoments {
			break
		}
		m := memory.PartialDate{Year: int16(d.From.Year())}
		if d.Precision < text.Season {
			m.Month = int8(d.From.Month())
		}
		if d.Precision < text.Week {
			m.Day = int8(d.From.Day())
		}
		out = append(out, m)
	}
	return out
}
