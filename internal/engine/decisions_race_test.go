package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// TestDecisionsAtOnceLeaveOneHome lets two processes on one store write, correct and
// approve where somebody lives, all at once: one home is active in the end.
func TestDecisionsAtOnceLeaveOneHome(t *testing.T) {
	ctx := context.Background()
	person := memory.Author{Kind: memory.ByPerson, Name: "ana"}
	homes := []string{"User lives in Berlin", "User lives in Lisbon", "User lives in Rome"}
	atOnce := func(t *testing.T, r *rig, decide func(e *Engine, i int) error) {
		t.Helper()
		engines := []*Engine{r.Engine, r.second(t).Engine}
		var done sync.WaitGroup
		begin := make(chan struct{})
		errs := make([]error, len(homes))
		for i := range homes {
			done.Go(func() {
				<-begin
				errs[i] = decide(engines[i%len(engines)], i)
			})
		}
		close(begin)
		done.Wait()
		for i, err := range errs {
			if err != nil {
				t.Errorf("decision %d: %v", i, err)
			}
		}
	}
	live := func(t *testing.T, r *rig, owner memory.Owner) {
		t.Helper()
		page, err := r.List(ctx, owner, memory.Query{Attribute: "home"})
		if err != nil {
			t.Fatal(err)
		}
		var active []string
		for _, m := range page.Memories {
			active = append(active, m.Content())
		}
		if len(active) != 1 {
			t.Errorf("%s lives in %q, want one home", owner, active)
		}
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, open)
			for round := range 5 {
				written := memory.User(memory.DefaultNamespace, fmt.Sprintf("writes%d", round))
				atOnce(t, r, func(e *Engine, i int) error {
					_, _, err := e.Remember(ctx, written, Note{Content: homes[i]}, person)
					return err
				})
				live(t, r, written)

				corrected := memory.User(memory.DefaultNamespace, fmt.Sprintf("corrects%d", round))
				ids := make([]string, len(homes))
				for i := range homes {
					f, _, err := r.Remember(ctx, corrected, Note{Content: fmt.Sprintf("User has %d cats and %d dogs", i, i)}, person)
					if err != nil {
						t.Fatal(err)
					}
					ids[i] = f.ID
				}
				atOnce(t, r, func(e *Engine, i int) error {
					_, err := e.EditFact(ctx, corrected, ids[i], Edit{Content: &homes[i]}, person)
					return err
				})
				live(t, r, corrected)

				approved := memory.User(memory.DefaultNamespace, fmt.Sprintf("approves%d", round))
				run := memory.Run{ID: newID(), Kind: "learn", Author: memory.Author{Kind: memory.ByRule}}
				var changes []memory.Change
				for i, words := range homes {
					f, err := r.noted(approved, Note{Content: words})
					if err != nil {
						t.Fatal(err)
					}
					f.Status, ids[i] = memory.Pending, f.ID
					changes = append(changes, memory.Change{Action: memory.ActionAdd, After: memory.Image{Fact: &f}})
				}
				if _, err := r.Store.Apply(ctx, approved, run, changes...); err != nil {
					t.Fatal(err)
				}
				atOnce(t, r, func(e *Engine, i int) error {
					_, _, err := e.Judge(ctx, approved, []Judgement{{ID: ids[i], Action: memory.ActionApprove}}, "", person)
					return err
				})
				live(t, r, approved)
			}
		})
	}
}

// TestWhatIsComparedWithNothingGoesSideBySide writes, and pins, a fact that contradicts
// nothing while another such is under way; one that may contradict others waits for it, and
// those that come later wait for that one.
func TestWhatIsComparedWithNothingGoesSideBySide(t *testing.T) {
	person := memory.Author{Kind: memory.ByPerson, Name: "ana"}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, open)
			place, err := r.deciders.enter(t.Context(), ana, false)
			if err != nil {
				t.Fatal(err)
			}
			defer place.leave()
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Second) // rather than for ever
			defer stop()
			if _, created, err := r.Remember(ctx, ana, Note{Content: "The harbour has two cranes"}, person); err != nil || !created {
				t.Errorf("compared with nothing: created %v, %v", created, err)
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if _, _, err := r.Remember(ended, ana, Note{Content: "User lives in Rome"}, person); !errors.Is(err, context.Canceled) {
				t.Errorf("compared with others, while something is written: got %v, want it to wait", err)
			}
		})
	}
}

// TestNobodyIsRefusedForOthersFacts has one client write facts that contradict nothing without a
// pause, while another decides about facts that contradict each other.
func TestNobodyIsRefusedForOthersFacts(t *testing.T) {
	person := memory.Author{Kind: memory.ByPerson, Name: "ana"}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, open)
			ctx := t.Context()
			var over atomic.Bool
			var writer sync.WaitGroup
			writer.Go(func() {
				for i := 0; !over.Load(); i++ {
					if _, _, err := r.Remember(ctx, ana, Note{Content: fmt.Sprintf("The harbour has crane number %d", i)}, person); err != nil {
						t.Error(err)
						return
					}
				}
			})
			for i := range 20 {
				if _, _, err := r.Remember(ctx, ana, Note{Content: fmt.Sprintf("User lives in Town%d", i)}, person); err != nil {
					t.Errorf("home %d: %v", i, err)
				}
			}
			over.Store(true)
			writer.Wait()
		})
	}
}

// TestEditsAtOnceAreAllMade lets two processes edit one fact, more often at once than an
// edit is planned again.
func TestEditsAtOnceAreAllMade(t *testing.T) {
	ctx := context.Background()
	person := memory.Author{Kind: memory.ByPerson, Name: "ana"}
	const edits = 2*maxConflicts + 1
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, open)
			engines := []*Engine{r.Engine, r.second(t).Engine}
			f, _, err := r.Remember(ctx, ana, Note{Content: "The harbour has two cranes"}, person)
			if err != nil {
				t.Fatal(err)
			}
			var done sync.WaitGroup
			begin := make(chan struct{})
			errs := make([]error, edits)
			for i := range edits {
				done.Go(func() {
					<-begin
					category := fmt.Sprint("place ", i)
					_, errs[i] = engines[i%len(engines)].EditFact(ctx, ana, f.ID, Edit{Category: &category}, person)
				})
			}
			close(begin)
			done.Wait()
			for i, err := range errs {
				if err != nil {
					t.Errorf("edit %d: %v", i, err)
				}
			}
			page, err := r.Store.Changes(ctx, ana, memory.ChangeQuery{Target: "fact:" + f.ID})
			if err != nil || len(page.Changes) != 1+edits {
				t.Errorf("got %d changes, %v; want %d", len(page.Changes), err, 1+edits)
			}
		})
	}
}

// Where others write all the time, what is tried again is the planning alone, so often and
// no more.
func TestWhatIsRefusedIsPlannedAgainSoOften(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		f := r.note(t, ana, "User lives in Lisbon")
		calls := map[string]int{}
		refused := memory.Errorf(memory.Conflict, "somebody wrote meanwhile")
		r.hook(func(call string) error {
			if calls[call]++; strings.HasPrefix(call, "Apply") {
				return refused
			}
			return nil
		}, func(string) error { return nil })
		for name, write := range map[string]func() error{
			"written": func() error {
				_, _, err := r.Remember(ctx, ana, Note{Content: "User plays the cello"}, her)
				return err
			},
			"forgotten": func() error {
				_, err := r.Forget(ctx, ana, []string{f.ID}, "no more", her)
				return err
			},
		} {
			clear(calls)
			if err := write(); !errors.Is(err, refused) {
				t.Errorf("%s: got %v, want the conflict", name, err)
			}
			if got := calls["Apply manual"] + calls["Apply forget"]; got != maxConflicts {
				t.Errorf("%s: tried %d times, want %d", name, got, maxConflicts)
			}
			if name == "written" && calls["Embed"] != 1 {
				t.Errorf("embedded %d times, want once", calls["Embed"])
			}
		}
		clear(calls)
		if err := replan(func() error { calls["other"]++; return errOtherRequest }); !errors.Is(err, errOtherRequest) || calls["other"] != 1 {
			t.Errorf("what stays a conflict: tried %d times, %v; want once", calls["other"], err)
		}
	})
}
