package sqlstore

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestPostgresTotalsAreEstimated counts what is cheap to count and estimates the rest.
func TestPostgresTotalsAreEstimated(t *testing.T) {
	s := openServer(t, pgtest.Schema(t), Options{})
	const facts, gone, exchanges = 400, 100, 300
	var changes []memory.Change
	for i := range facts {
		f := memtest.Fact(memtest.Ana, fmt.Sprint("fact ", i))
		if i < gone {
			f.Status = memory.Retired
		}
		changes = append(changes, memtest.Add(f))
	}
	if _, err := s.Apply(t.Context(), memtest.Ana, memtest.Run("facts"), changes...); err != nil {
		t.Fatal(err)
	}
	for i := range exchanges {
		if _, err := s.Append(t.Context(), memtest.Ben, talk(memtest.Ben, i)); err != nil {
			t.Fatal(err)
		}
	}
	want := memory.Counts{Facts: facts - gone, Turns: 2 * exchanges, Conversations: 1, Changes: facts, JobsQueued: exchanges}
	if got, err := s.Totals(t.Context()); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, err := s.commits.(*server).db.Exec("ANALYZE facts, turns, journal"); err != nil {
		t.Fatal(err)
	}
	near := func(got, want int) bool { return 10*got > 9*want && 10*got < 11*want }
	got, err := s.roughTotals(t.Context(), 0)
	if err != nil || !near(got.Facts, want.Facts) || !near(got.Turns, want.Turns) || !near(got.Changes, want.Changes) {
		t.Errorf("estimated: got %+v, %v; want about %+v", got, err, want)
	}
}
