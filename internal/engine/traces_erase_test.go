package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/memory"
)

var (
	cy = memory.User(memory.DefaultNamespace, "cy") // who asks, and has nothing of his own
	di = memory.User("elsewhere", "di")
)

// writeWaiting writes all traces.
func (r *rig) writeWaiting(t *testing.T) {
	t.Helper()
	for r.Traces.WriteTraces(t.Context()) {
	}
}

// TestWhatManySawIsErasedFromTheirTraces lets Ben and Cy read Ana's facts by a pool and
// as everybody, looks for the words in all files, and holds what is theirs alone.
func TestWhatManySawIsErasedFromTheirTraces(t *testing.T) {
	for to, whole := range map[string]bool{"pool/team": false, "global": true} {
		t.Run(strings.ReplaceAll(to, "/", " "), func(t *testing.T) {
			inFolders(t, func(t *testing.T, r *rig, dir string) {
				ctx := context.Background()
				r.Opts.Recall.Pools, r.Opts.Recall.BootstrapBelowFacts = []string{"team"}, 3
				f := r.note(t, ana, "The cellar holds marzipan")
				r.share(t, f.ID, to, false)
				noError(t)(r.Curate.Remember(ctx, ben, curate.FactInput{Content: "Ben carves granite"}, him))
				question := "What does the cellar hold?"
				for _, o := range []memory.Owner{ben, cy} {
					if got := r.ask(t, o, question, memory.At{}); !slices.Contains(got, f.Content) {
						t.Fatalf("%s finds %q", o, got)
					}
				}
				r.writeWaiting(t)
				kept := retrieve.Question{Scope: memory.Scope{Owner: ben}, Text: "Who carves granite?", TopK: ptr(1)}
				noError(t)(r.Retrieve.Recall(ctx, kept))
				r.ask(t, cy, question, memory.At{}) // one that waits to be written
				if len(filesWith(t, dir, sweet)) == 0 {
					t.Fatal("no file has the word before")
				}
				held, err := r.Traces.Traces(ctx, ben, memory.TraceQuery{})
				held = slices.DeleteFunc(held, func(t memory.Trace) bool { return !strings.Contains(saysAll(t), sweet) })
				if err != nil || len(held) == 0 {
					t.Fatalf("Ben has %d traces with the word, %v", len(held), err)
				}
				list := 0
				if whole {
					got, err := r.Erase.EraseOwner(ctx, ana, her)
					if list = got.ErasedTraces; err != nil {
						t.Fatal(err)
					}
				} else {
					_, got, err := r.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{IDs: []string{f.ID}, Erase: true}, her)
					if list = got.Traces; err != nil {
						t.Fatal(err)
					}
				}
				if list != 3 {
					t.Errorf("the receipt tells of %d traces, want Ben's and Cy's, who has one that waits", list)
				}
				r.writeWaiting(t)
				wantNowhere(t, dir)
				for o, want := range map[memory.Owner]int{ben: 1, cy: 0} {
					if left, err := r.Traces.Traces(ctx, o, memory.TraceQuery{}); err != nil || len(left) != want {
						t.Errorf("%s has %d traces left, %v; want %d", o, len(left), err, want)
					}
				}

				// Another server writes what a recall that read before leaves.
				for i, late := range held {
					late.ID, late.At = fmt.Sprint("late ", i), r.Time()
					noError(t)(r.Store.SaveTraces(ctx, traces.MaxStoredTraces, late))
				}
				wantNowhere(t, dir)
				r.clock.Advance(2 * time.Minute)
				r.settle(t)
				wantNowhere(t, dir)
			})
		})
	}
}

// TestTracesOfWhoHasNothingElseAreErased erases who asked and was never told anything.
func TestTracesOfWhoHasNothingElseAreErased(t *testing.T) {
	inFolders(t, func(t *testing.T, r *rig, dir string) {
		ctx := context.Background()
		r.ask(t, cy, "Where is the marzipan?", memory.At{})
		r.ask(t, di, "Where is the granite?", memory.At{})
		r.writeWaiting(t)
		if len(filesWith(t, dir, sweet)) == 0 {
			t.Fatal("no file has the word before")
		}
		r.ask(t, cy, "More marzipan?", memory.At{})
		got, err := r.Erase.EraseOwner(ctx, cy, her)
		if err != nil || got.CountByKind["trace"] != 2 || len(got.CountByKind) != 1 {
			t.Errorf("the receipt is %+v, %v; want two traces, one that waits", got, err)
		}
		r.writeWaiting(t)
		wantNowhere(t, dir)
		if left, err := r.Traces.Traces(ctx, di, memory.TraceQuery{}); err != nil || len(left) != 1 {
			t.Errorf("another has %d traces left, %v", len(left), err)
		}
	})
}

// TestWaitingTracesAreGoneOnceTheErasureIs: the author's, and of whom the fact was shared
// with by name.
func TestWaitingTracesAreGoneOnceTheErasureIs(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		f := r.note(t, ana, "The cellar holds marzipan")
		r.share(t, f.ID, "user/ben", false)
		ids := map[memory.Owner]string{}
		for _, o := range []memory.Owner{ana, ben, cy} {
			got := try(r.Retrieve.Recall(ctx, retrieve.Question{Scope: memory.Scope{Owner: o}, Text: "What does the cellar hold?"})).orFail(t)
			ids[o] = got.TraceID
		}
		noError(t)(r.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{IDs: []string{f.ID}, Erase: true}, her))
		for o, want := range map[memory.Owner]bool{ana: false, ben: false, cy: true} {
			if _, err := r.Traces.Trace(ctx, o, ids[o]); (err == nil) != want {
				t.Errorf("the trace of %s: %v, want it there: %v", o, err, want)
			}
			if left, err := r.Traces.Traces(ctx, o, memory.TraceQuery{}); err != nil || (len(left) > 0) != want {
				t.Errorf("%s has %d traces left, %v; want some: %v", o, len(left), err, want)
			}
		}
	})
}

// TestWhatIsAddedToATraceDoesNotBringItBack erases it between its being read and changed.
func TestWhatIsAddedToATraceDoesNotBringItBack(t *testing.T) {
	for _, erased := range []bool{false, true} {
		r := newRig(t, stores["inmem"])
		r.note(t, ana, "The cellar holds marzipan")
		found := try(r.Retrieve.Recall(t.Context(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "What does the cellar hold?"})).orFail(t)
		r.Traces.Amend(t.Context(), ana, found.TraceID, func(trace *memory.Trace) {
			trace.Degraded = []string{"late"}
			if erased {
				if _, err := r.Erase.EraseOwner(t.Context(), ana, her); err != nil {
					t.Error(err)
				}
			}
		})
		if left, err := r.Traces.Traces(t.Context(), ana, memory.TraceQuery{}); err != nil || (len(left) == 0) != erased || !erased && len(left[0].Degraded) == 0 {
			t.Errorf("erased %v: %d traces, %v", erased, len(left), err)
		}
	}
}
