package sqlstore

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestPostgresReadsMemoriesInOneWay: what is said and what is known comes in one way there
// and back, what is neither in one more.
func TestPostgresReadsMemoriesInOneWay(t *testing.T) {
	w := countWays(t, pgtest.Schema(t))
	s := openServer(t, w.address, Options{})
	s.reads.db.SetMaxOpenConns(1) // so that it has all statements prepared
	b := memtest.Batch(memtest.Ana, "talk", 0, "I sail.", "Where to?")
	fact, summary := memtest.Fact(memtest.Ana, "Ana sails."), memtest.Summary(memtest.Ana, "talk", "They spoke of sailing.")
	if _, err := s.Append(t.Context(), memtest.Ana, b); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), memtest.Ana, memtest.Run("learn"), memtest.Add(fact), memtest.Change(memory.ActionAdd, summary)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ids         []string
		found, ways int64
	}{
		"turns":              {[]string{b.Turns[1].ID, b.Turns[0].ID}, 2, 1},
		"a turn and a fact":  {[]string{fact.ID, b.Turns[0].ID}, 2, 1},
		"one twice":          {[]string{fact.ID, fact.ID}, 2, 1},
		"of all kinds":       {[]string{b.Turns[0].ID, summary.ID, fact.ID}, 3, 2},
		"what is not there":  {[]string{"gone", b.Turns[0].ID}, 1, 2},
		"nothing of another": {nil, 0, 0},
	} {
		for i := range 3 { // what comes first has statements prepared, and takes more
			before := w.n.Load()
			found, err := s.Get(t.Context(), memtest.Ana, c.ids...)
			if err != nil || int64(len(found)) != c.found {
				t.Fatalf("%s: found %d, %v, want %d", name, len(found), err, c.found)
			}
			for j, m := range found {
				if c.found == int64(len(c.ids)) && m.ID() != c.ids[j] {
					t.Errorf("%s: %d is %s, want %s", name, j, m.ID(), c.ids[j])
				}
			}
			if got := w.n.Load() - before; i > 1 && got != c.ways {
				t.Errorf("%s takes %d ways, want %d", name, got, c.ways)
			}
		}
	}
	if found, err := s.Get(t.Context(), memory.User("default", "ben"), fact.ID, summary.ID); err != nil || len(found) > 0 {
		t.Error(fmt.Sprint("another's: ", found, err))
	}
}
