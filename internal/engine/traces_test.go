package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

func TestRingKeepsTheNewestTraces(t *testing.T) {
	r := newTraceRing()
	const more = 10
	id := func(i int) string { return fmt.Sprint("trace ", i) }
	for i := range tracesPending + more {
		r.add(memory.Trace{ID: id(i), Owner: ana})
	}
	for i, kept := range map[int]bool{more - 1: false, more: true, tracesPending + more - 1: true} {
		if _, ok := r.find(ana, id(i)); ok != kept {
			t.Errorf("trace %d of %d: found %v, want %v", i, tracesPending+more, ok, kept)
		}
	}
	if _, ok := r.find(memory.User("default", "ben"), id(more)); ok {
		t.Error("another owner finds ana's trace")
	}

	taken := r.take()
	if len(taken) != tracesPending || taken[0].ID != id(more) || taken[len(taken)-1].ID != id(tracesPending+more-1) {
		t.Errorf("took %d from %s to %s, want %d from %s", len(taken), taken[0].ID, taken[len(taken)-1].ID, tracesPending, id(more))
	}
	r.add(memory.Trace{ID: id(more), Owner: ana, Door: "again"})
	if found, ok := r.find(ana, id(more)); !ok || found.Door != "again" {
		t.Errorf("a trace added again while it is written: found %+v, %v; want the later", found, ok)
	}
	if _, ok := r.find(ana, id(more+1)); !ok {
		t.Error("a trace is not found while it is written")
	}
	r.done()
	if _, ok := r.find(ana, id(more+1)); ok {
		t.Error("a trace is kept after it was written")
	}
}

// TestATraceKeepsRoundedCopies checks that what a caller was given keeps all of its
// digits.
func TestATraceKeepsRoundedCopies(t *testing.T) {
	why := memory.Why{{Name: "own", Value: 1.0 / 3}, {Name: "recency", Value: .99999}}
	fact := memory.Memory{Fact: &memory.Fact{ID: "f", Content: "tea"}}
	var many memory.Why // more than fit beside others
	for range partsAtOnce {
		many = append(many, memory.Part{Name: "many", Value: 2.0 / 3})
	}
	r := recalling{
		hits:    []memory.Hit{{Memory: fact, Score: 1.0 / 3, Why: why}, {Memory: fact}},
		dropped: []recall.Dropped{{Hit: memory.Hit{Memory: fact, Why: many}, Stage: "budget"}},
		cut:     []recall.Cut{{ID: "c", Score: 2.0 / 3, Why: why, Stage: "limit"}},
	}
	got := r.trace("id", "", 0)
	want := memory.Why{{Name: "own", Value: .3333}, {Name: "recency", Value: 1}}
	if h := got.Hits[0]; h.Score != .3333 || !slices.Equal(h.Why, want) {
		t.Errorf("a hit of %v, %v; want .3333, %v", h.Score, h.Why, want)
	}
	if got.Hits[1].Why != nil {
		t.Errorf("a hit without a why has %v", got.Hits[1].Why)
	}
	if c := got.Cut[0]; c.Cut != "budget" || len(c.Why) != partsAtOnce || c.Why[partsAtOnce-1].Value != .6667 {
		t.Errorf("dropped: %s with %d parts", c.Cut, len(c.Why))
	}
	if c := got.Cut[1]; c.Cut != "limit" || c.Score != .6667 || !slices.Equal(c.Why, want) {
		t.Errorf("cut: %+v, want rounded numbers", c)
	}
	if r.hits[0].Score != 1.0/3 || r.hits[0].Why.Get("own") != 1.0/3 {
		t.Errorf("the hit itself was rounded: %v", r.hits[0])
	}
}
