package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/engine/vectors"
	"github.com/loci-memory/loci/memory"
)

// threeOf gives three users so many memories each by an embedder, and then another one.
func threeOf(t *testing.T, r *rig, old, next memory.Embedder, n int) (*restarted, []memory.Owner) {
	t.Helper()
	owners := []memory.Owner{ana, memory.User("default", "ben"), memory.User("default", "cleo")}
	before := again(t, r.Store, r.clock, old)
	for _, owner := range owners {
		for i := range n {
			before.note(t, owner, fmt.Sprintf("The tea number %d is oolong", i))
		}
	}
	return again(t, r.Store, r.clock, next), owners
}

func TestAllUsersAreReembeddedAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		next := &alike{name: "next"}
		after, owners := threeOf(t, r, &alike{name: "old"}, next, 4)
		all, err := after.Vectors.ReembedAll(ctx, true, "")
		if want := (vectors.Everyone{Vectors: vectors.Vectors{Model: "alike:next", Memories: 12, Lacking: 12}, Owners: 3}); err != nil || all != want {
			t.Errorf("dry run: %+v, %v; want %+v", all, err, want)
		}
		if queued, err := after.Store.Jobs(ctx, ana); err != nil || slices.ContainsFunc(queued, func(j memory.Job) bool { return j.Kind == memory.JobEmbed }) {
			t.Errorf("a dry run queued %+v, %v", queued, err)
		}
		if all, err = after.Vectors.ReembedAll(ctx, false, ""); err != nil || !all.UnderWay {
			t.Fatalf("%+v, %v; want it under way", all, err)
		}
		died := errors.New("killed")
		next.fails = func([]string) error { // midway: two users are done, one is not
			if next.documents.Load() == 8 {
				return died
			}
			return nil
		}
		if err := after.give(ctx); !errors.Is(err, died) {
			t.Fatalf("%v, want it killed", err)
		}
		next.fails = nil
		all, err = after.Vectors.VectorsOfAll(ctx)
		if err != nil || all.Owners != 3 || all.Complete != 2 || all.Memories != 12 || all.Lacking != 4 || !all.UnderWay {
			t.Errorf("midway: %+v, %v; want 2 of 3 complete, 4 of 12 lacking, under way", all, err)
		}
		if err := after.give(ctx); err != nil {
			t.Fatal(err)
		}
		for range 2 { // looked at, and as it is known
			all, err = after.Vectors.VectorsOfAll(ctx)
			if want := (vectors.Everyone{Vectors: vectors.Vectors{Model: "alike:next", Memories: 12}, Owners: 3, Complete: 3}); err != nil || all != want {
				t.Errorf("at the end: %+v, %v; want %+v", all, err, want)
			}
		}
		if next.documents.Load() != 12 {
			t.Errorf("%d texts embedded, want each of 12 once", next.documents.Load())
		}
		after.note(t, owners[1], "Something else is written")
		if all, err = after.Vectors.VectorsOfAll(ctx); err != nil || all.Memories != 13 {
			t.Errorf("after a write: %+v, %v; want 13 memories", all, err)
		}
	})
}

func TestOldVectorsAreGivenUpAfterTheSwitchAlone(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		old, next := &alike{name: "old"}, &alike{name: "next"}
		after, owners := threeOf(t, r, old, next, 5)
		const (
			was = "alike:old"
			is  = "alike:next"
		)
		if _, err := after.Vectors.Prune(ctx, ana, []string{was}, false); !errors.Is(err, memory.Conflict) {
			t.Errorf("before the switch: %v, want a conflict", err)
		}
		if _, err := after.Vectors.Prune(ctx, ana, []string{was, is}, false); !errors.Is(err, memory.Invalid) {
			t.Errorf("of the model in use: %v, want it invalid", err)
		}
		if _, err := after.Vectors.ReembedAll(ctx, false, ""); err != nil {
			t.Fatal(err)
		}
		if err := after.give(ctx); err != nil {
			t.Fatal(err)
		}
		models := []string{"never heard of", was}
		for _, dry := range []bool{true, false} {
			if got, err := after.Vectors.Prune(ctx, ana, models, dry); err != nil || !slices.Equal(got, []vectors.Pruned{{Model: was, Owners: 1, Count: 5}}) {
				t.Errorf("dry %v: %+v, %v; want 5 by the old one", dry, got, err)
			}
		}
		if got, err := after.Vectors.Prune(ctx, ana, models, false); err != nil || len(got) != 0 {
			t.Errorf("again: %+v, %v; want nothing left", got, err)
		}
		if got, err := after.Vectors.PruneAll(ctx, models, false); err != nil || !slices.Equal(got, []vectors.Pruned{{Model: was, Owners: 2, Count: 10}}) {
			t.Errorf("of all: %+v, %v; want the other two's 10", got, err)
		}
		if hits, by := after.compared(t, "oolong tea"); hits != 5 || by != 5 {
			t.Errorf("by the one in use: %d of %d hits compared by vector, want 5 of 5", by, hits)
		}
		embedded := old.documents.Load()
		back := again(t, r.Store, r.clock, old)
		if hits, by := back.compared(t, "oolong tea"); hits != 5 || by != 0 {
			t.Errorf("back to the old: %d of %d hits compared by vector, want none until it has embedded again", by, hits)
		}
		if all, err := back.Vectors.VectorsOfAll(ctx); err != nil || all.Lacking != 5*len(owners) {
			t.Errorf("back to the old: %+v, %v; want all lacking", all, err)
		}
		if _, err := back.Vectors.ReembedAll(ctx, false, ""); err != nil {
			t.Fatal(err)
		}
		if err := back.give(ctx); err != nil {
			t.Fatal(err)
		}
		if hits, by := back.compared(t, "oolong tea"); by != hits || old.documents.Load() != embedded+15 {
			t.Errorf("embedded again: %d of %d hits compared by vector, %d texts; want all, 15", by, hits, old.documents.Load()-embedded)
		}
	})
}
