package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// TestOneThingIsReadAsAListHasIt on every store: at each time, whatever a list of all
// statuses has is what is read of it by its id, and nothing else is.
func TestOneThingIsReadAsAListHasIt(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		times := []time.Time{r.Time()}
		pass := func() {
			r.clock.Advance(time.Minute)
			times = append(times, r.Time())
			r.clock.Advance(time.Minute)
		}
		pass()
		f := r.note(t, ana, "The shop opens at nine")
		pass()
		r.share(t, f.ID, "user/ben", false)
		pass()
		r.edit(t, f.ID, "The shop opens at ten")
		pass()
		if _, err := r.Curate.Forget(ctx, ben, []string{f.ID}, "hidden", him); err != nil {
			t.Fatal(err)
		}
		pass()
		kept, err := r.Exchange.Ingest(ctx, ana, exchange.Talk{Messages: []exchange.Said{{Role: memory.RoleUser, Content: "We sail in June"}}})
		if err != nil {
			t.Fatal(err)
		}
		pass()
		if _, err := r.Curate.Forget(ctx, ana, []string{f.ID, kept.Turns[0]}, "by hand", her); err != nil {
			t.Fatal(err)
		}
		pass()
		met := 0
		for _, owner := range []memory.Owner{ana, ben} {
			for _, at := range times {
				listed := map[string]memory.Memory{}
				q := memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindTurn}, Statuses: core.EveryStatus, At: memory.At{AsOf: at}}
				if err := r.Everything(ctx, owner, q, func(m memory.Memory) { listed[m.ID()] = m }); err != nil {
					t.Fatal(err)
				}
				for _, id := range []string{f.ID, kept.Turns[0]} {
					want, there := listed[id]
					got, err := r.Retrieve.GetAt(ctx, owner, id, memory.At{AsOf: at})
					switch {
					case !there && !errors.Is(err, memory.NotFound):
						t.Errorf("%s at %s: %v %v, want not found", owner, at, got.Content(), err)
					case there && (err != nil || got.Content() != want.Content() || got.Status() != want.Status() || (got.Link == nil) != (want.Link == nil)):
						t.Errorf("%s at %s: %q %s, %v; a list has %q %s", owner, at, got.Content(), got.Status(), err, want.Content(), want.Status())
					case there:
						met++
					}
				}
			}
		}
		if met < 8 {
			t.Errorf("%d were there; want some of all times", met)
		}
	})
}

// TestRelationsAreReadAsTheyWere on every store: those that there were, with the words that
// their facts had.
func TestRelationsAreReadAsTheyWere(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		dog, fear := r.note(t, ana, "User has a dog named Rex"), r.note(t, ana, "Rex is afraid of thunder")
		before := r.Time()
		r.clock.Advance(time.Minute)
		if _, err := r.Curate.Relate(ctx, ana, fear.ID, dog.ID, memory.Refines, her); err != nil {
			t.Fatal(err)
		}
		r.clock.Advance(time.Minute)
		tied := r.Time()
		r.clock.Advance(time.Minute)
		r.edit(t, fear.ID, "Rex is afraid of nothing")
		if _, err := r.Curate.Unrelate(ctx, ana, fear.ID, dog.ID, memory.Refines, her); err != nil {
			t.Fatal(err)
		}
		for at, want := range map[time.Time]string{before: "", tied: "Rex is afraid of thunder", {}: ""} {
			w, err := r.Curate.RelatedAt(ctx, ana, dog.ID, memory.At{AsOf: at}, 1, 9)
			got := ""
			if len(w.Facts) > 1 {
				got = w.Facts[1].Content
			}
			if err != nil || got != want || len(w.Relations) != len(w.Facts)-1 {
				t.Errorf("at %s: %q by %d relations, %v; want %q", at, got, len(w.Relations), err, want)
			}
		}
		if _, err := r.Curate.RelatedAt(ctx, ana, dog.ID, memory.At{AsOf: before.Add(-time.Hour)}, 1, 9); !errors.Is(err, memory.NotFound) {
			t.Errorf("before all: %v, want not found", err)
		}
	})
}
