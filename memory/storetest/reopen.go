package storetest

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// OpenAt opens the store at a path with a clock, or creates a store there.
type OpenAt func(path string, now func() time.Time) (memory.Store, error)

// RunReopen checks that acknowledged writes exist after closing a store and opening it again.
func RunReopen(t *testing.T, open OpenAt) {
	path := filepath.Join(t.TempDir(), "store")
	openIt := func(t *testing.T, now func() time.Time) memory.Store {
		s, err := open(path, now)
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		t.Cleanup(func() { _ = s.Close() }) // a second close, unless the test failed
		return s
	}
	r := newRig(t, openIt)
	r.clock.Step(-1)
	trace := memory.Trace{ID: "trace", Owner: ana, At: memtest.Epoch, Question: "tea?"}
	for _, o := range []memory.Owner{ana, ben} {
		newPlay(r).furnish(o)
	}
	r.must("save trace", r.SaveTraces(r.Context(), 5, trace))
	r.apply(ana, memtest.Retire(r.fact(ana, "fact")), memtest.TurnMark(memory.ActionUpdate, "c0", memory.Replaced))
	held, err := r.Claim(r.Context(), learning, time.Minute)
	r.must("claim", err)
	was := map[memory.Owner]snapshot{ana: r.snapshot(ana), ben: r.snapshot(ben)}
	at := was[ana].Journal[len(was[ana].Journal)-1].At
	past := r.export(ana, memory.At{AsOf: at})

	for range 2 {
		r.must("close", r.Close())
		r.stores = []memory.Store{openIt(t, r.clock.Now)}
		r.next()
		for o, want := range was {
			r.same("data of "+string(o), r.snapshot(o), want)
		}
		r.same("earlier data of Ana", r.export(ana, memory.At{AsOf: at}), past)
	}
	if got, err := r.Trace(r.Context(), ana, "trace"); err != nil || got.Question != trace.Question {
		r.Errorf("trace: got %+v, %v", got, err)
	}
	if again := r.applyRun(ana, memtest.Run("furnish")); !again.Again {
		r.Errorf("a run that was applied before: got %+v, want Again set", again)
	}
	if next := r.append(ana, memtest.Batch(ana, "c", 2, "well")); next.Version != was[ana].Version+1 || !next.At.After(was[ana].Journal[0].At) {
		r.Errorf("next write: got %+v, want version %d and a later time", next, was[ana].Version+1)
	}
	r.must("finish with the lease from before closing", r.Finish(r.Context(), held.Lease, memory.Outcome{Done: true}))
	unheard := memtest.Fact(ana, "unheard of")
	twin := unheard
	twin.ID = memtest.ID("twin")
	r.apply(ana, memtest.Add(unheard))
	if _, err := r.Apply(r.Context(), ana, r.run(), memtest.Add(twin)); !errors.Is(err, memory.Duplicate) {
		r.Errorf("a duplicate: got %v, want %s", err, memory.Duplicate)
	}
}
