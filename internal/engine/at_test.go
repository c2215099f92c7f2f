package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// TestRelationsAreReadAsTheyWere on every store: those that there were, with the words that
// their facts had.
func TestRelationsAreReadAsTheyWere(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		dog, fear := r.note(t, ana, "User has a dog named Rex"), r.note(t, ana, "Rex is afraid of thunder")
		before := r.Time()
		r.clock.Advance(time.Minute)
		noError(t)(r.Curate.Relate(ctx, ana, fear.ID, dog.ID, memory.Refines, her))
		r.clock.Advance(time.Minute)
		tied := r.Time()
		r.clock.Advance(time.Minute)
		r.edit(t, fear.ID, "Rex is afraid of nothing")
		noError(t)(r.Curate.Unrelate(ctx, ana, fear.ID, dog.ID, memory.Refines, her))
		for at, want := range map[time.Time]string{before: "", tied: "Rex is afraid of thunder", {}: ""} {
			w, err := r.Curate.RelatedFacts(ctx, ana, dog.ID, memory.At{AsOf: at}, 1, 9)
			got := ""
			if len(w.Facts) > 1 {
				got = w.Facts[1].Content
			}
			if err != nil || got != want || len(w.Relations) != len(w.Facts)-1 {
				t.Errorf("at %s: %q by %d relations, %v; want %q", at, got, len(w.Relations), err, want)
			}
		}
		if _, err := r.Curate.RelatedFacts(ctx, ana, dog.ID, memory.At{AsOf: before.Add(-time.Hour)}, 1, 9); !errors.Is(err, memory.NotFound) {
			t.Errorf("before all: %v, want not found", err)
		}
	})
}
