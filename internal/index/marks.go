package index

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// textFlags returns the flags that depend on the whole text: [memory.FlagQuestion].
func textFlags(content string) memory.TextFlags {
	var m memory.TextFlags
	if text.EndsInQuestionMark(content) {
		m |= memory.FlagQuestion
	}
	return m
}

// subjectFlags returns [memory.FlagOtherPerson] if a memory is about another person than the user.
func subjectFlags(m memory.Memory) memory.TextFlags {
	switch {
	case m.Fact != nil && m.Fact.Subject != "" && !strings.EqualFold(m.Fact.Subject, "user"),
		m.Turn != nil && m.Turn.Role == memory.RoleUser && text.IsAboutAnother(m.Turn.Content):
		return memory.FlagOtherPerson
	}
	return 0
}

// maxDates is the maximum number of dates stored for a text.
const maxDates = 8

// appendDates appends the dates that a text of the date statedAt mentions. A range of days counts as
// its first day, unless it is a whole month or year.
func appendDates(out []memory.PartialDate, content string, statedAt time.Time) []memory.PartialDate {
	if statedAt.IsZero() {
		return out
	}
	for i, d := range text.ResolveDates(content, statedAt) {
		if i == maxDates {
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
