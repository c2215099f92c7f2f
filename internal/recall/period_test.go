package recall

import (
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

func TestQuestionsNameDates(t *testing.T) {
	day := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC) }
	named := func(y int16, m, d int8) []Period {
		return []Period{{PartialDate: memory.PartialDate{Year: y, Month: m, Day: d}}}
	}
	for question, want := range map[string][]Period{
		"What happened in May 2023?":    named(2023, 5, 0),
		"What happened in May?":         named(0, 5, 0),
		"What did I do on 7 May?":       named(0, 5, 7),
		"What did I do yesterday?":      named(2026, 5, 3),
		"What did I do last month?":     named(2026, 4, 0),
		"Where did I live in 2019?":     named(2019, 0, 0),
		"What did I do on May 7, 2023?": named(2023, 5, 7),
		"What did I do last week?":      {{PartialDate: memory.PartialDate{Year: 2026, Month: 4}, From: day(4, 27), To: day(5, 4)}},
		"What did I do last spring?":    {{PartialDate: memory.PartialDate{Year: 2025}, From: day(3, 1).AddDate(-1, 0, 0), To: day(6, 1).AddDate(-1, 0, 0)}},
		"What do I like?":               nil,
	} {
		if got := NewQuery(question, now, QueryOptions{}).Periods; !slices.Equal(got, want) {
			t.Errorf("%q: dates %v, want %v", question, got, want)
		}
	}
}

// A week, weekend or season is its days and no others of their month or year.
func TestAPeriodIsItsDays(t *testing.T) {
	saidOn := func(days ...string) (all []memory.Candidate) {
		for _, day := range days {
			at, err := time.Parse(time.DateOnly, day)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, memory.Candidate{ID: day, Kind: memory.KindTurn, Role: memory.RoleUser, StatedAt: at, At: at})
		}
		return all
	}
	for _, c := range []struct {
		question, want string
		others         []string
	}{
		{"What did I talk about last week?", "2026-04-29", []string{"2026-05-04", "2026-04-15", "2026-04-01"}},
		{"What did I talk about last week?", "2026-05-02", []string{"2026-05-04", "2026-04-15"}}, // it began in the month before
		{"What did I say last weekend?", "2026-05-02", []string{"2026-05-04", "2026-05-01"}},
		{"What did I do last summer?", "2025-07-09", []string{"2025-03-01", "2025-11-20", "2026-04-20"}},
	} {
		kept, cut := Rank(NewQuery(c.question, now, QueryOptions{}), saidOn(append(c.others, c.want)...), RankOptions{MinAnswerRelevance: new(float64), RecencyWeight: new(float64)}, now)
		if len(kept) != 1 || kept[0].ID != c.want {
			t.Errorf("%q: kept %v, cut %v; want what was said on %s alone", c.question, kept, cut, c.want)
		}
	}
}
