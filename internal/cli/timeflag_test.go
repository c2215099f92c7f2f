package cli

import (
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

func TestTimesAreReadAsPeopleWriteThem(t *testing.T) {
	zone := time.FixedZone("here", 2*3600)
	now := time.Date(2026, 5, 4, 0, 30, 0, 0, zone) // a Monday; still Sunday in UTC
	for _, c := range []struct{ in, begin, end string }{
		{"now", "2026-05-04T00:30:00+02:00", "2026-05-04T00:30:00+02:00"},
		{"2026-05-03", "2026-05-03T00:00:00+02:00", "2026-05-03T23:59:59.999999+02:00"},
		{"yesterday", "2026-05-03T00:00:00+02:00", "2026-05-03T23:59:59.999999+02:00"},
		{" today ", "2026-05-04T00:00:00+02:00", "2026-05-04T23:59:59.999999+02:00"},
		{"last week", "2026-04-27T00:00:00+02:00", "2026-05-03T23:59:59.999999+02:00"},
		{"in March 2026", "2026-03-01T00:00:00+02:00", "2026-03-31T23:59:59.999999+02:00"},
		{"3 days ago", "2026-05-01T00:00:00+02:00", "2026-05-01T23:59:59.999999+02:00"},
		{"2026-05-03 14:05", "2026-05-03T14:05:00+02:00", "2026-05-03T14:05:00+02:00"},
		{"2026-05-03T14:05:06", "2026-05-03T14:05:06+02:00", "2026-05-03T14:05:06+02:00"},
		{"08:15", "2026-05-04T08:15:00+02:00", "2026-05-04T08:15:00+02:00"},
		{"90m", "2026-05-03T23:00:00+02:00", "2026-05-03T23:00:00+02:00"},
		{"2026-05-03T14:05:06Z", "2026-05-03T14:05:06Z", "2026-05-03T14:05:06Z"},
		{"2026-05-03T14:05:06.25-07:00", "2026-05-03T14:05:06.25-07:00", "2026-05-03T14:05:06.25-07:00"},
	} {
		for _, end := range []bool{false, true} {
			want := c.begin
			if end {
				want = c.end
			}
			got, err := parseTime(c.in, now, end)
			if err != nil || got.Format(time.RFC3339Nano) != want {
				t.Errorf("%q, end %t: %s, %v; want %s", c.in, end, got.Format(time.RFC3339Nano), err, want)
			}
		}
	}
	for _, in := range []string{"", "nonsense", "yesterday or so", "from 2026-05-03 to 2026-05-04", "-5m", "2026-13-01 10:00"} {
		if got, err := parseTime(in, now, false); !errors.Is(err, memory.Invalid) {
			t.Errorf("%q is read as %v, %v; want it refused", in, got, err)
		}
	}
}
