package text

import (
	"testing"
	"time"
)

// said is a Monday.
var said = time.Date(2026, 5, 4, 15, 0, 0, 0, time.UTC)

func TestResolveReadsDates(t *testing.T) {
	for in, want := range map[string]string{
		"I ran yesterday":           "yesterday|2026-05-03|2026-05-04",
		"seen yesterday evening.":   "yesterday evening|2026-05-03|2026-05-04",
		"we met last week":          "last week|2026-04-27|2026-05-04",
		"we meet next month":        "next month|2026-06-01|2026-07-01",
		"it was last Friday":        "last Friday|2026-05-01|2026-05-02",
		"on Friday I will fly":      "on Friday|2026-05-08|2026-05-09",
		"we went there on Friday":   "on Friday|2026-05-01|2026-05-02",
		"two years ago":             "two years ago|2024-01-01|2025-01-01",
		"3 days ago":                "3 days ago|2026-05-01|2026-05-02",
		"a couple of weeks ago":     "a couple of weeks ago|2026-04-20|2026-04-27",
		"in 2 weeks":                "in 2 weeks|2026-05-18|2026-05-25",
		"born in 1990":              "in 1990|1990-01-01|1991-01-01",
		"on 7 May 2023 we married":  "on 7 May 2023|2023-05-07|2023-05-08",
		"May 7th, 2023":             "May 7th, 2023|2023-05-07|2023-05-08",
		"March-15-2024":             "March-15-2024|2024-03-15|2024-03-16",
		"in May":                    "in May|2026-05-01|2026-06-01",
		"moved in December":         "in December|2025-12-01|2026-01-01",
		"2023-05-07":                "2023-05-07|2023-05-07|2023-05-08",
		"07.05.2023":                "07.05.2023|2023-05-07|2023-05-08",
		"last summer":               "last summer|2025-06-01|2025-09-01",
		"the summer of 2022":        "summer of 2022|2022-06-01|2022-09-01",
		"last weekend":              "last weekend|2026-05-02|2026-05-04",
		"the day before yesterday":  "day before yesterday|2026-05-02|2026-05-03",
		"I may go":                  "",
		"a few years ago":           "",
		"it cost $2000":             "",
		"2000 dollars":              "",
		"30 February 2024":          "February 2024|2024-02-01|2024-03-01",
		"nothing to see":            "",
		"this morning at the lake?": "this morning|2026-05-04|2026-05-05",
	} {
		got := ""
		if dates := Resolve(in, said); len(dates) > 0 {
			d := dates[len(dates)-1]
			got = d.Of(in) + "|" + d.From.Format(time.DateOnly) + "|" + d.To.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("Resolve(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAbsoluteWritesRelativeDatesOut(t *testing.T) {
	for in, want := range map[string]string{
		"I ran yesterday.":                  "I ran on 2026-05-03.",
		"Yesterday I ran":                   "On 2026-05-03 I ran",
		"I moved last month":                "I moved in April 2026",
		"I live here since last year":       "I live here since 2025",
		"We meet next week or on Friday":    "We meet in the week of 2026-05-11 or on 2026-05-08",
		"Born on 7 May 1990, moved in 2023": "Born on 7 May 1990, moved in 2023",
		"last summer and last winter":       "in summer 2025 and in winter 2026",
		"nothing":                           "nothing",
	} {
		if got := Absolute(in, said); got != want {
			t.Errorf("Absolute(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("two years ago on 7 May, 2023-01-02 last Friday in 3 weeks")
	f.Fuzz(func(t *testing.T, s string) {
		end := 0
		for _, d := range Resolve(s, said) {
			if d.Start < end || d.End <= d.Start || d.End > len(s) || !d.To.After(d.From) {
				t.Fatalf("Resolve(%q) has %+v after %d", s, d, end)
			}
			end = d.End
		}
		Absolute(s, said)
	})
}
