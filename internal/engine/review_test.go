package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestAnApprovedFactIsSure: with the words it had or better ones, until that is undone.
func TestAnApprovedFactIsSure(t *testing.T) {
	for _, better := range []string{"", "User plays two cellos"} {
		eachStore(t, func(t *testing.T, s *scene) {
			ctx, ana := context.Background(), memtest.Ana
			play(t, s, "set review.confidence: 1.0\nuser ana: I play the cello.\nexpect pending ana: User plays the cello")
			doubted := try(s.Curate.PendingFacts(ctx, ana, 0, "")).orFail(t).Facts[0].Memory.Fact
			if doubted.Confidence >= 1 {
				t.Fatalf("it is %v sure before anybody approved it", doubted.Confidence)
			}
			facts, receipt, err := s.Curate.Judge(ctx, ana, []curate.Judgement{{ID: doubted.ID, Action: memory.ActionApprove, Content: better}}, "", her)
			if err != nil || len(facts) != 1 || facts[0].Fact.Confidence != 1 {
				t.Fatalf("approved as %q: %+v, %v; want it sure", better, facts, err)
			}
			if f := try(s.Fact(ctx, ana, doubted.ID)).orFail(t); f.Confidence != 1 || f.Status != memory.Active {
				t.Errorf("approved as %q it is %s and %v sure, want active and 1", better, f.Status, f.Confidence)
			}
			noError(t)(s.Curate.Undo(ctx, ana, curate.UndoRequest{RunID: receipt.Run}, her))
			if f := try(s.Fact(ctx, ana, doubted.ID)).orFail(t); f.Confidence != doubted.Confidence || f.Status != memory.Pending || f.Content != doubted.Content {
				t.Errorf("undone it is %s, %v sure and says %q, want it as it was: %+v", f.Status, f.Confidence, f.Content, doubted)
			}
		})
	}
}

// TestLaterChangesAreThoseThatRefuseAnUndo compares what a dry run shows with what
// an undo does, on random journals of single changes and replacements.
func TestLaterChangesAreThoseThatRefuseAnUndo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var journal []memory.Change // newest first
		things := []string{"f1", "f2", "f3", "f4"}
		runs := rapid.IntRange(1, 6).Draw(t, "runs")
		for r := range runs {
			var run []memory.Change
			change := func(id, old, next string) {
				was := memory.Fact{ID: id, Status: memory.Active, Content: "before"}
				is := memory.Fact{ID: id, Status: memory.Active, Content: fmt.Sprint("after ", r)}
				run = append(run, memory.Change{
					ID: fmt.Sprintf("r%d/%d", r, len(run)+1), Run: fmt.Sprint("r", r), Version: int64(r + 1), Action: memory.ActionUpdate,
					OldID: old, NewID: next, Before: memory.State{Fact: &was}, After: memory.State{Fact: &is},
				})
			}
			touched := rapid.SliceOfNDistinct(rapid.SampledFrom(things), 1, 3, rapid.ID).Draw(t, "touched")
			if len(touched) > 1 && rapid.Bool().Draw(t, "replaces") {
				change(touched[0], touched[0], touched[1])
				change(touched[1], touched[0], touched[1])
				touched = touched[2:]
			}
			for _, id := range touched {
				change(id, "", "")
			}
			slices.Reverse(run)
			journal = append(run, journal...)
		}
		var targets []memory.Change
		one := rapid.SampledFrom(journal).Draw(t, "undone")
		whole := rapid.Bool().Draw(t, "whole run")
		for _, c := range journal {
			if c.ID == one.ID || whole && c.Run == one.Run {
				targets = append(targets, c)
			}
		}
		later := curate.LaterChanges(targets, journal)
		_, err := learn.Undo(targets, journal, false, time.Time{}, memory.Author{})
		if refused := errors.Is(err, memory.Conflict); refused != (len(later) > 0) || err != nil && !refused {
			t.Fatalf("later changes are %v; undoing says %v", later, err)
		}
	})
}
