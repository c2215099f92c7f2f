package engine

import (
	"fmt"
	"testing"

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
