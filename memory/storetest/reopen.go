package storetest

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// OpenAt opens the store at a path with a clock, or creates a store at the path.
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
	r.clock.SetStep(-1)
	trace := memory.Trace{ID: "trace", Owner: ana, At: memtest.Epoch, Question: "tea?"}
	for _, o := range []memory.Owner{ana, ben} {
		newScriptRun(r).writeSamples(o)
	}
	r.must("save trace", r.SaveTraces(r.Context(), 5, trace))
	r.applyChanges(ana, memtest.Retire(r.fact(ana, "fact")), memtest.TurnChange(memory.ActionUpdate, "c0", memory.Replaced))
	held, err := r.Claim(r.Context(), learnKinds, time.Minute)
	r.must("claim", err)
	before := map[memory.Owner]snapshot{ana: r.readSnapshot(ana), ben: r.readSnapshot(ben)}
	at := before[ana].Journal[len(before[ana].Journal)-1].At
	past := r.readExport(ana, memory.At{AsOf: at})

	for range 2 {
		r.must("close", r.Close())
		r.stores = []memory.Store{openIt(t, r.clock.Now)}
		r.nextReplica()
		for o, want := range before {
			r.checkEqual("data of "+string(o), r.readSnapshot(o), want)
		}
		r.checkEqual("earlier data of Ana", r.readExport(ana, memory.At{AsOf: at}), past)
	}
	if got, err := r.Trace(r.Context(), ana, "trace"); err != nil || got.Question != trace.Question {
		r.Errorf("trace: got %+v, %v", got, err)
	}
	if again := r.applyRun(ana, memtest.Run("furnish")); !again.Again {
		r.Errorf("a run that was applied before: got %+v, want Again set", again)
	}
	if next := r.appendBatch(ana, memtest.Batch(ana, "c", 2, "well")); next.Version != before[ana].Version+1 || !next.At.After(before[ana].Journal[0].At) {
		r.Errorf("next write: got %+v, want version %d and a later time", next, before[ana].Version+1)
	}
	r.must("finish with the lease from before closing", r.Finish(r.Context(), held.Lease, memory.Outcome{Done: true}))
	newFact := memtest.Fact(ana, "unheard of")
	twin := newFact
	twin.ID = memtest.ID("twin")
	r.applyChanges(ana, memtest.Add(newFact))
	if _, err := r.Apply(r.Context(), ana, r.nextRun(), memtest.Add(twin)); !errors.Is(err, memory.Duplicate) {
		r.Errorf("a duplicate: got %v, want %s", err, memory.Duplicate)
	}
}
