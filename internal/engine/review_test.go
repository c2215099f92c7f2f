package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

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
					OldID: old, NewID: next, Before: memory.Image{Fact: &was}, After: memory.Image{Fact: &is},
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
		later := later(targets, journal)
		_, err := learn.Undo(targets, journal, false, time.Time{}, memory.Author{})
		if refused := errors.Is(err, memory.Conflict); refused != (len(later) > 0) || err != nil && !refused {
			t.Fatalf("later changes are %v; undoing says %v", later, err)
		}
	})
}
