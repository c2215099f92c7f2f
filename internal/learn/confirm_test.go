package learn

import (
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestWaitingFactDoesNotSwallowPlainStatement: a plain statement activates a pending fact and
// replaces what it contradicts.
func TestWaitingFactDoesNotSwallowPlainStatement(t *testing.T) {
	berlin := heardFact("User lives in Berlin")
	waiting := withStatus(heardFact("User lives in Lisbon"), memory.Pending)
	for name, again := range map[string]string{"the same words": "User lives in Lisbon", "about the same": "User currently lives in Lisbon"} {
		c := later(5, again, waiting, berlin)
		for i := range c.Neighbors {
			c.Neighbors[i].Similarity = 1
		}
		fresh, again, dropped := Dedupe([]extract.Candidate{c}, DedupeOptions{Scope: memory.Scope{Owner: memtest.Ana}})
		changes, outcomes := Plan(fresh, Reconcile(fresh), again, options())
		got := summary(changes)
		if want := lines("replace superseded User lives in Berlin", "approve active User lives in Lisbon"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s (%+v, dropped %+v)", name, got, want, outcomes, dropped)
		}
	}
	doubted := later(6, "User lives in Lisbon", waiting, berlin)
	doubted.ReviewReason, doubted.DoubtReason = "nobody said so", "nobody said so"
	fresh, again, _ := Dedupe([]extract.Candidate{doubted}, DedupeOptions{Scope: memory.Scope{Owner: memtest.Ana}})
	changes, _ := Plan(fresh, Reconcile(fresh), again, options())
	for _, ch := range changes {
		if ch.After.Fact.Status == memory.Active {
			t.Errorf("what waits became active by a statement that waits itself: %s", summary(changes))
		}
	}
}
