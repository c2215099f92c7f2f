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
	onEach(t, func(t *testing.T, r *rig) {
		for round := range 5 {
			written := memory.User(memory.DefaultNamespace, fmt.Sprintf("writes%d", round))
			atOnce(t, r, func(e *Engine, i int) error {
				return errOf(e.Curate.Remember(ctx, written, curate.FactInput{Content: homes[i]}, person))
			})
			live(t, r, written)

			corrected := memory.User(memory.DefaultNamespace, fmt.Sprintf("corrects%d", round))
			ids := make([]string, len(homes))
			for i := range homes {
				f, _, err := r.Curate.Remember(ctx, corrected, curate.FactInput{Content: fmt.Sprintf("User has %d cats and %d dogs", i, i)}, person)
				if err != nil {
					t.Fatal(err)
				}
				ids[i] = f.ID
			}
			atOnce(t, r, func(e *Engine, i int) error {
				return errOf(e.Curate.EditFact(ctx, corrected, ids[i], curate.FactEdit{Content: &homes[i]}, person))
			})
			live(t, r, corrected)

			approved := memory.User(memory.DefaultNamespace, fmt.Sprintf("approves%d", round))
			run := memory.Run{ID: core.NewID(), Kind: "learn", Author: memory.Author{Kind: memory.ByRule}}
			var changes []memory.Change
			for i, words := range homes {
				f := try(r.Curate.FactFromInput(approved, curate.FactInput{Content: words})).orFail(t)
				f.Status, ids[i] = memory.Pending, f.ID
				changes = append(changes, memory.Change{Action: memory.ActionAdd, After: memory.State{Fact: &f}})
			}
			noError(t)(r.Store.Apply(ctx, approved, run, changes...))
			atOnce(t, r, func(e *Engine, i int) error {
				return errOf(e.Curate.Judge(ctx, approved, []curate.Judgement{{ID: ids[i], Action: memory.ActionApprove}}, "", person))
			})
			live(t, r, approved)
		}
	})
}

// TestEditsAtOnceAreAllMade lets two processes edit one fact, more often at once than an
// edit is planned again.
func TestEditsAtOnceAreAllMade(t *testing.T) {
	ctx := context.Background()
	person := memory.Author{Kind: memory.ByPerson, Name: "ana"}
	const edits = 2*core.MaxFastRetries + 1
	onEach(t, func(t *testing.T, r *rig) {
		engines := []*Engine{r.Engine, r.second(t).Engine}
		f, _, err := r.Curate.Remember(ctx, ana, curate.FactInput{Content: "The harbour has two cranes"}, person)
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
				_, errs[i] = engines[i%len(engines)].Curate.EditFact(ctx, ana, f.ID, curate.FactEdit{Category: &category}, person)
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
