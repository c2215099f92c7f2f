package engine

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

var (
	cy = memory.User(memory.DefaultNamespace, "cy") // who asks, and has nothing of his own
	di = memory.User("elsewhere", "di")
)

// TestWhatManySawIsErasedFromTheirTraces lets Ben and Cy read Ana's facts by a pool and
// as everybody, looks for the words in all files, and holds what is theirs alone.
func TestWhatManySawIsErasedFromTheirTraces(t *testing.T) {
	for to, whole := range map[string]bool{"pool/team": false, "global": true} {
		t.Run(strings.ReplaceAll(to, "/", " "), func(t *testing.T) {
			inFolders(t, func(t *testing.T, r *rig, dir string) {
				ctx := context.Background()
				r.opts.Recall.Pools, r.opts.Recall.Bootstrap = []string{"team"}, 3
				f := r.note(t, ana, "The cellar holds marzipan")
				r.share(t, f.ID, to, false)
				if _, _, err := r.Remember(ctx, ben, Note{Content: "Ben carves granite"}, him); err != nil {
					t.Fatal(err)
				}
				question := "What does the cellar hold?"
				for _, o := range []memory.Owner{ben, cy} {
					if got := r.ask(t, o, question, memory.At{}); !slices.Contains(got, f.Content) {
						t.Fatalf("%s finds %q", o, got)
					}
				}
				for r.writeTraces(ctx) {
				}
				kept := Question{Scope: memory.Scope{Owner: ben}, Text: "Who carves granite?", TopK: ptr(1)}
				if _, err := r.Recall(ctx, kept); err != nil {
					t.Fatal(err)
				}
				r.ask(t, cy, question, memory.At{}) // one that waits to be written
				if len(filesWith(t, dir, sweet)) == 0 {
					t.Fatal("no file has the word before")
				}
				traces := 0
				if whole {
					got, err := r.EraseOwner(ctx, ana, her)
					if traces = got.Traces; err != nil {
						t.Fatal(err)
					}
				} else {
					_, got, err := r.ForgetMatching(ctx, ana, Matching{IDs: []string{f.ID}, Erase: true}, her)
					if traces = got.Traces; err != nil {
						t.Fatal(err)
					}
				}
				if traces != 2 {
					t.Errorf("the receipt tells of %d traces, want those of Ben and Cy", traces)
				}
				for r.writeTraces(ctx) {
				}
				wantNowhere(t, dir)
				for o, want := range map[memory.Owner]int{ben: 1, cy: 0} {
					if left, err := r.Traces(ctx, o, memory.TraceQuery{}); err != nil || len(left) != want {
						t.Errorf("%s has %d traces left, %v; want %d", o, len(left), err, want)
					}
				}

				// Another server writes one that it held.
				late := memory.Trace{ID: "late", Owner: ben, At: r.now(), Hits: []memory.TraceHit{{ID: f.ID, Kind: memory.KindFact, Content: f.Content}}}
				if err := r.Store.SaveTraces(ctx, tracesKept, late); err != nil {
					t.Fatal(err)
				}
				r.clock.Advance(2 * time.Minute)
				r.settle(t)
				wantNowhere(t, dir)
			})
		})
	}
}

// TestErasingLooksThroughNoTracesForWhatFewSaw counts.
func TestErasingLooksThroughNoTracesForWhatFewSaw(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		looked := 0
		r.hook(func(call string) error {
			if call == "EraseTracesOf" {
				looked++
			}
			return nil
		}, func(string) error { return nil })
		for want, to := range []string{"", "user/ben", "pool/team"} {
			f := r.note(t, ana, "The cellar holds item "+to)
			if to != "" {
				r.share(t, f.ID, to, false)
			}
			looked = 0
			if _, _, err := r.ForgetMatching(context.Background(), ana, Matching{IDs: []string{f.ID}, Erase: true}, her); err != nil {
				t.Fatal(err)
			}
			if looked != want/2 {
				t.Errorf("shared with %q: all traces were looked through %d times, want %d", to, looked, want/2)
			}
		}
	})
}

// TestTracesOfWhoHasNothingElseAreErased erases who asked and was never told anything.
func TestTracesOfWhoHasNothingElseAreErased(t *testing.T) {
	inFolders(t, func(t *testing.T, r *rig, dir string) {
		ctx := context.Background()
		r.ask(t, cy, "Where is the marzipan?", memory.At{})
		r.ask(t, di, "Where is the granite?", memory.At{})
		for r.writeTraces(ctx) {
		}
		if len(filesWith(t, dir, sweet)) == 0 {
			t.Fatal("no file has the word before")
		}
		r.ask(t, cy, "More marzipan?", memory.At{})
		got, err := r.EraseOwner(ctx, cy, her)
		if err != nil || got.Count["trace"] != 1 || len(got.Count) != 1 {
			t.Errorf("the receipt is %+v, %v; want one trace", got, err)
		}
		for r.writeTraces(ctx) {
		}
		wantNowhere(t, dir)
		if left, err := r.Traces(ctx, di, memory.TraceQuery{}); err != nil || len(left) != 1 {
			t.Errorf("another has %d traces left, %v", len(left), err)
		}
	})
}
