package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// timeFlag is a flag that names a time as people write it.
type timeFlag struct {
	at  *time.Time
	end bool // of a day or longer the end is meant, not the beginning
}

// Set implements pflag.Value.
func (m timeFlag) Set(s string) (err error) {
	*m.at, err = readTime(s, time.Now(), m.end)
	return err
}

// Type implements pflag.Value.
func (m timeFlag) Type() string { return "time" }

// String implements pflag.Value.
func (m timeFlag) String() string {
	if m.at == nil || m.at.IsZero() {
		return ""
	}
	return m.at.Format(time.RFC3339)
}

// clocks are the ways to write a time of a day.
var clocks = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"}

// readTime reads a time in now's zone: RFC 3339, "2026-05-03 14:00", "14:00" of
// today, "90m" ago, "now", and days or longer as people say them ("2026-05-03",
// "yesterday", "last week", "in May"), of which it returns the beginning or the end.
func readTime(s string, now time.Time, end bool) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "now" {
		return now, nil
	}
	for _, layout := range clocks {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	day := func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, now.Location())
	}
	if t, err := time.Parse("15:04", s); err == nil {
		return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location()), nil
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	if dates := text.Resolve(s, now); len(dates) == 1 && dates[0].Of(s) == s {
		if end {
			return day(dates[0].To).Add(-time.Microsecond), nil
		}
		return day(dates[0].From), nil
	}
	return time.Time{}, memory.Errorf(memory.Invalid, `%q is not a valid time; write 2026-05-03, "2026-05-03 14:00", yesterday, "last week", 90m (ago) or RFC 3339`, s)
}

// timeFlags are the flags of a read of another time.
func timeFlags(cmd *cobra.Command, at *memory.At) {
	cmd.Flags().Var(timeFlag{at: &at.AsOf, end: true}, "as-of", "what was known then: 2026-05-03, yesterday, 90m (ago), …")
	cmd.Flags().Var(timeFlag{at: &at.ValidAt, end: true}, "valid-at", "what was true then")
}

// reading makes a read one of the time that its flags name.
func (g *global) reading(cmd *cobra.Command) *cobra.Command {
	timeFlags(cmd, &g.at)
	return onMemory(g, cmd)
}
