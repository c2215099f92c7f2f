package engine

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func traceID(i int) string { return fmt.Sprint("trace ", i) }

// fill adds traces until some are lost, and returns how many there were.
func fill(r *traces.TraceRing) (added int) {
	hits := []memory.TraceHit{{ID: "m", Content: strings.Repeat("tea ", 1000)}}
	for ; r.Lost < 10; added++ {
		r.Add(memory.Trace{ID: traceID(added), Owner: ana, Hits: hits})
	}
	return added
}

func TestRingKeepsTheNewestTraces(t *testing.T) {
	r := traces.NewTraceRing()
	added := fill(r)
	if r.Bytes > traces.TraceBytes+5000 || added < traces.TraceBytes/5000 {
		t.Errorf("%d bytes after %d traces, want some %d", r.Bytes, added, traces.TraceBytes)
	}
	for i, kept := range map[int]bool{9: false, 10: true, added - 1: true} {
		got, ok := r.Find(ana, traceID(i))
		if ok != kept || kept && (len(got.Hits) != 1 || !strings.HasPrefix(got.Hits[0].Content, "tea tea")) {
			t.Errorf("trace %d of %d: found %v with %d hits, want %v", i, added, ok, len(got.Hits), kept)
		}
	}
	if _, ok := r.Find(memory.User("default", "ben"), traceID(added-1)); ok {
		t.Error("another owner finds ana's trace")
	}
}

func TestTracesAreWrittenOldestFirst(t *testing.T) {
	r := traces.NewTraceRing()
	added := fill(r)
	list, upTo := r.Oldest(5)
	if len(list) != 5 || list[0].ID != traceID(10) || list[4].ID != traceID(14) {
		t.Fatalf("got %d traces from %s, want 5 from %s", len(list), list[0].ID, traceID(10))
	}
	r.Add(memory.Trace{ID: traceID(12), Owner: ana, Door: "again"})
	if found, ok := r.Find(ana, traceID(12)); !ok || found.Door != "again" {
		t.Errorf("a trace added again while it is written: found %+v, %v; want the later", found, ok)
	}
	if _, ok := r.Find(ana, traceID(14)); !ok {
		t.Error("a trace is not found while it is written")
	}
	r.Written(upTo)
	for i, kept := range map[int]bool{12: true, 14: false, 15: true, added - 1: true} {
		if _, ok := r.Find(ana, traceID(i)); ok != kept {
			t.Errorf("trace %d after 10 to 14 were written: found %v, want %v", i, ok, kept)
		}
	}
	all, upTo := r.Oldest(2 * added)
	if r.Written(upTo); r.Bytes != 0 || len(r.Waiting) != 0 || len(all) != added-15+1 {
		t.Errorf("after all %d were written %d with %d bytes are left", len(all), len(r.Waiting), r.Bytes)
	}
}

// TestRingLosesWhatIsWritten drops traces in a flood while they are written: those
// that came later stay.
func TestRingLosesWhatIsWritten(t *testing.T) {
	r := traces.NewTraceRing()
	r.Add(memory.Trace{ID: "first", Owner: ana})
	_, upTo := r.Oldest(1)
	added := fill(r)
	r.Written(upTo)
	if _, ok := r.Find(ana, traceID(added-1)); !ok || len(r.Waiting) < 100 {
		t.Errorf("%d traces are left of %d, want the newest", len(r.Waiting), added)
	}
}

// TestATraceKeepsRoundedCopies checks that what a caller was given keeps all of its
// digits.
func TestATraceKeepsRoundedCopies(t *testing.T) {
	why := memory.Why{{Name: "own", Value: 1.0 / 3}, {Name: "recency", Value: .99999}, {Name: "no number", Value: math.NaN()}}
	fact := memory.Memory{Fact: &memory.Fact{ID: "f", Content: "tea"}}
	var many memory.Why
	for i := range 1000 {
		many = append(many, memory.Part{Name: fmt.Sprint("part ", i%300), Value: 2.0 / 3 * float64(1-2*(i%2))})
	}
	kept := traces.New(&core.Core{})
	e := &retrieve.Retriever{Core: kept.Core, Traces: kept}
	r := retrieve.Pipeline{
		Source: retrieve.Source{
			E: e, Q: retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "tea?", Door: "search"}, Now: memtest.Epoch, Degraded: []string{"core: gone"},
		},
		Found:   7,
		Hits:    []memory.Hit{{Memory: fact, Score: 1.0 / 3, Why: why}, {Memory: fact, Why: memory.Why{}}, {Memory: fact, Score: math.Inf(-1)}},
		Dropped: []recall.Dropped{{Hit: memory.Hit{Memory: fact, Why: many}, Stage: "budget"}},
		Cut:     []recall.Cut{{ID: "c", Kind: memory.KindTurn, Score: 2.0 / 3, Why: why, Stage: "limit"}},
	}
	r.Trace("id", "block", 5)
	got, ok := e.Traces.Ring.Find(ana, "id")
	if !ok {
		t.Fatal("the trace is not found")
	}
	rounded := memory.Why{{Name: "own", Value: .3333}, {Name: "recency", Value: 1}, {Name: "no number"}}
	wantMany := slices.Clone(many)
	for i := range wantMany {
		wantMany[i].Value = .6667 * float64(1-2*(i%2))
	}
	want := memory.Trace{
		ID: "id", Owner: ana, Door: "search", Question: "tea?", At: memtest.Epoch, Found: 7, Block: "block", Degraded: []string{"core: gone"}, Took: 5,
		Hits: []memory.TraceHit{
			{ID: "f", Kind: memory.KindFact, Content: "tea", Score: .3333, Why: rounded},
			{ID: "f", Kind: memory.KindFact, Content: "tea", Why: memory.Why{}},
			{ID: "f", Kind: memory.KindFact, Content: "tea", Score: -(1 << 53) / 1e4},
		},
		Cut: []memory.TraceHit{
			{ID: "f", Kind: memory.KindFact, Cut: "budget", Why: wantMany},
			{ID: "c", Kind: memory.KindTurn, Cut: "limit", Score: .6667, Why: rounded},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if r.Hits[0].Score != 1.0/3 || r.Hits[0].Why.Get("own") != 1.0/3 {
		t.Errorf("the hit itself was rounded: %v", r.Hits[0])
	}
}

func TestATraceThatIsBeingMadeIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := traces.NewTraceRing()
		goOn := make(chan struct{})
		go r.Later("t", func() {
			<-goOn
			r.Add(memory.Trace{ID: "t", Owner: ana})
		})()
		found := false
		go func() { _, found = r.Find(ana, "t") }()
		synctest.Wait()
		if found {
			t.Fatal("a trace was found before it was there")
		}
		close(goOn)
		synctest.Wait()
		if !found || len(r.Coming) != 0 {
			t.Errorf("found %v with %d under way, want it found and none", found, len(r.Coming))
		}
		if _, ok := r.Find(ana, "another"); ok {
			t.Error("another id is found")
		}
	})
}

// An answer and its trace say what words of the question were taken for, in words of what was shown; of
// what is asked in confidence, or is not told, the trace has none.
func TestAnswersSayWhatMisspeltWordsWereTakenFor(t *testing.T) {
	r := newRig(t, stores["inmem"])
	r.note(t, ana, "User is allergic to penicillin")
	want := []memory.Misspelt{{Word: "alergic", Meant: []string{"allergic"}}}
	for question, traced := range map[string]bool{
		"What am I alergic to?":                       true,
		"What am I allergic to?":                      false,
		"Do not remember this: what am I alergic to?": false,
	} {
		found, err := r.Retrieve.Recall(t.Context(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: question})
		if err != nil || len(found.Hits) != 1 {
			t.Fatalf("%s: %v, %v", question, found.Hits, err)
		}
		trace, err := r.Traces.Trace(t.Context(), ana, found.Trace)
		if err != nil || strings.Contains(question, "alergic") != reflect.DeepEqual(found.Misspelt, want) || traced != reflect.DeepEqual(trace.Misspelt, want) {
			t.Errorf("%s: the answer says %v and the trace %v, %v", question, found.Misspelt, trace.Misspelt, err)
		}
	}
}
