package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
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
		page := try(r.List(ctx, owner, memory.Query{Attribute: "home"})).orFail(t)
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
					_, _, err := e.Curate.Remember(ctx, written, curate.Note{Content: homes[i]}, person)
					return err
				})
				live(t, r, written)

				corrected := memory.User(memory.DefaultNamespace, fmt.Sprintf("corrects%d", round))
				ids := make([]string, len(homes))
				for i := range homes {
					f, _, err := r.Curate.Remember(ctx, corrected, curate.Note{Content: fmt.Sprintf("User has %d cats and %d dogs", i, i)}, person)
					if err != nil {
						t.Fatal(err)
					}
					ids[i] = f.ID
				}
				atOnce(t, r, func(e *Engine, i int) error {
					_, err := e.Curate.EditFact(ctx, corrected, ids[i], curate.Edit{Content: &homes[i]}, person)
					return err
				})
				live(t, r, corrected)

				approved := memory.User(memory.DefaultNamespace, fmt.Sprintf("approves%d", round))
				run := memory.Run{ID: core.NewID(), Kind: "learn", Author: memory.Author{Kind: memory.ByRule}}
				var changes []memory.Change
				for i, words := range homes {
					f := try(r.Curate.Noted(approved, curate.Note{Content: words})).orFail(t)
					f.Status, ids[i] = memory.Pending, f.ID
					changes = append(changes, memory.Change{Action: memory.ActionAdd, After: memory.Image{Fact: &f}})
				}
				noError(t)(r.Store.Apply(ctx, approved, run, changes...))
				atOnce(t, r, func(e *Engine, i int) error {
					_, _, err := e.Curate.Judge(ctx, approved, []curate.Judgement{{ID: ids[i], Action: memory.ActionApprove}}, "", person)
					return err
				})
				live(t, r, approved)
			}
		})
	}
}

// TestEditsAtOnceAreAllMade lets two processes edit one fact, more often at once than an
// edit is planned again.
func TestEditsAtOnceAreAllMade(t *testing.T) {
	ctx := context.Background()
	person := memory.Author{Kind: memory.ByPerson, Name: "ana"}
	const edits = 2*core.MaxConflicts + 1
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, open)
			engines := []*Engine{r.Engine, r.second(t).Engine}
			f, _, err := r.Curate.Remember(ctx, ana, curate.Note{Content: "The harbour has two cranes"}, person)
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
					_, errs[i] = engines[i%len(engines)].Curate.EditFact(ctx, ana, f.ID, curate.Edit{Category: &category}, person)
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

// TestOppositesAtOnceLeaveOne has many write what contradicts each other, and what does not,
// all at once, in two processes: of opposites one is active in the end, all else is there.
func TestOppositesAtOnceLeaveOne(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		engines := []*Engine{r.Engine, r.second(t).Engine}
		for round := range 4 {
			owner := memory.User(memory.DefaultNamespace, fmt.Sprintf("round%d", round))
			said := []string{
				"User likes olives", "User does not like olives", "User eats fish", "User no longer eats fish",
				"User lives in Rome", "User lives in Porto", "The harbour has two cranes", "The harbour has no bridge",
			}
			var done sync.WaitGroup
			begin := make(chan struct{})
			for i, words := range said {
				done.Go(func() {
					<-begin
					if _, _, err := engines[(i/2+round)%2].Curate.Remember(t.Context(), owner, curate.Note{Content: words}, her); err != nil {
						t.Errorf("%q: %v", words, err)
					}
				})
			}
			close(begin)
			done.Wait()
			page := try(r.List(t.Context(), owner, memory.Query{})).orFail(t)
			active := map[string]int{}
			for _, m := range page.Memories {
				active[m.Content()]++
			}
			for i := 0; i < 6; i += 2 {
				if active[said[i]]+active[said[i+1]] != 1 {
					t.Errorf("%q and %q: %d and %d are active, want one", said[i], said[i+1], active[said[i]], active[said[i+1]])
				}
			}
			if active[said[6]] != 1 || active[said[7]] != 1 {
				t.Errorf("what contradicts nothing is there %d and %d times", active[said[6]], active[said[7]])
			}
		}
	})
}
