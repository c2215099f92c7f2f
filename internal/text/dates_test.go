package text

import (
	"os"
	"strings"
	"testing"
	"time"
)

// reference is a Monday.
var reference = time.Date(2026, 5, 4, 15, 0, 0, 0, time.UTC)

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
		"broken, this may not heal": "",
		"we moved this May":         "this May|2026-05-01|2026-06-01",
		"a few years ago":           "",
		"it cost $2000":             "",
		"2000 dollars":              "",
		"30 February 2024":          "February 2024|2024-02-01|2024-03-01",
		"nothing to see":            "",
		"this morning at the lake?": "this morning|2026-05-04|2026-05-05",
	} {
		got := ""
		if dates := ResolveDates(in, reference); len(dates) > 0 {
			d := dates[len(dates)-1]
			got = d.Slice(in) + "|" + d.From.Format(time.DateOnly) + "|" + d.To.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("Resolve(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestAbsoluteReadsLikeEnglish checks the results for testdata/dates.txt on a Monday, that a second
// run changes nothing, and that the dates stay.
func TestAbsoluteReadsLikeEnglish(t *testing.T) {
	data, err := os.ReadFile("testdata/dates.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		in, want, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			continue
		}
		n++
		if got := WithAbsoluteDates(in, reference); got != want {
			t.Errorf("Absolute(%q) = %q, want %q", in, got, want)
		}
		keepsDates(t, in, reference)
	}
	if n < 100 {
		t.Errorf("%d phrases, want at least 100", n)
	}
}

// keepsDates checks that Absolute keeps the dates of s and is idempotent.
func keepsDates(t *testing.T, s string, reference time.Time) {
	t.Helper()
	once := WithAbsoluteDates(s, reference)
	if twice := WithAbsoluteDates(once, reference); twice != once {
		t.Errorf("of %q on %s: %q is written again as %q", s, reference.Format(time.DateOnly), once, twice)
	}
	if had, has := datesIn(s, reference), datesIn(once, reference); had != has {
		t.Errorf("%q said on %s has%s, but %q has%s", s, reference.Format(time.DateOnly), had, once, has)
	}
}

func datesIn(s string, reference time.Time) string {
	out := ""
	for _, d := range ResolveDates(s, reference) {
		out += " " + d.From.Format(time.DateOnly) + "/" + d.To.Format(time.DateOnly)
	}
	return out
}

// TestAbsoluteKeepsTheDates combines phrases to sentences, two at a time and on many days.
func TestAbsoluteKeepsTheDates(t *testing.T) {
	phrases := []string{
		"yesterday", "tomorrow evening", "last night", "the day before yesterday", "last week", "next weekend", "this month", "next year", "last summer",
		"last Friday", "on Tuesday", "Monday", "next March", "in May", "on May 7", "July 15-27", "3-5 August", "two weeks ago", "over a year ago", "in 3 days",
		"for the next week", "in the past month", "since last year", "yesterday's", "next week's", "Friday, May 8", "Tuesday next week", "every Friday", "mid-June",
		"7 May 2023", "in 2021", "a few years ago", "early next month", "on 31 December",
	}
	frames := []string{"I ran %s", "%s was hard", "my %s trip", "the %s deadline is %s", "between %s and %s", "%s we met, and %s too.", "%s, %s"}
	for _, frame := range frames {
		for i, a := range phrases {
			for _, b := range phrases {
				words := strings.Replace(strings.Replace(frame, "%s", a, 1), "%s", b, 1)
				for day := range 4 {
					keepsDates(t, words, reference.AddDate(0, day*(i+1), day*(i+2)))
				}
				if strings.Count(frame, "%s") == 1 {
					break
				}
			}
		}
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("two years ago on 7 May, 2023-01-02 last Friday in 3 weeks")
	f.Fuzz(func(t *testing.T, s string) {
		end := 0
		for _, d := range ResolveDates(s, reference) {
			if d.Start < end || d.End <= d.Start || d.End > len(s) || !d.To.After(d.From) {
				t.Fatalf("Resolve(%q) has %+v after %d", s, d, end)
			}
			end = d.End
		}
		WithAbsoluteDates(s, reference)
	})
}
