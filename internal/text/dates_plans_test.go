package text

import (
	"testing"
	"time"
)

// TestDatesOfPlansAreToCome has phrases about plans, written on a Monday of November.
func TestDatesOfPlansAreToCome(t *testing.T) {
	reference := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	for s, want := range map[string]string{
		"launch is planned for feb 1":                      "2027-02-01",
		"I finished the draft, launch is feb 1":            "2027-02-01",
		"dentist wed 10am":                                 "2026-11-25",
		"dentist on fri":                                   "2026-11-27",
		"the course starts in sept":                        "2027-09-01",
		"we fly to Rome in feb":                            "2027-02-01",
		"she is away til the 20th":                         "2026-12-20",
		"the rent is due by the 1st":                       "2026-12-01",
		"we talked about it yesterday, the trip is in May": "2027-05-01",
		"I got back on the 3rd":                            "2026-11-03",
		"that photo is from October":                       "2026-10-01",
		"I met him in october":                             "2026-10-01",
		"he was born in March":                             "2026-03-01",
		"the sun sat low":                                  "",
		"I live on the 4th floor":                          "",
		"they wed young":                                   "",
		"we may march on":                                  "",
	} {
		got := ""
		if d := ResolveDates(s, reference); len(d) > 0 {
			got = d[len(d)-1].From.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("Resolve(%q) ends with %q, want %q", s, got, want)
		}
	}
}
