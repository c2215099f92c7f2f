package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/retrieve"
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
		if want := (vectors.TotalProgress{EmbedProgress: vectors.EmbedProgress{Model: "alike:next", Memories: 12, Lacking: 12}, Owners: 3}); err != nil || all != want {
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
		all, err = after.Vectors.ReembedAll(ctx, true, "")
		if err != nil || all.Owners != 3 || all.Complete != 2 || all.Memories != 12 || all.Lacking != 4 || !all.UnderWay {
			t.Errorf("midway: %+v, %v; want 2 of 3 complete, 4 of 12 lacking, under way", all, err)
		}
		noError(t)(after.give(ctx))
		for range 2 { // looked at, and as it is known
			all, err = after.Vectors.ReembedAll(ctx, true, "")
			if want := (vectors.TotalProgress{EmbedProgress: vectors.EmbedProgress{Model: "alike:next", Memories: 12}, Owners: 3, Complete: 3}); err != nil || all != want {
				t.Errorf("at the end: %+v, %v; want %+v", all, err, want)
			}
		}
		if next.documents.Load() != 12 {
			t.Errorf("%d texts embedded, want each of 12 once", next.documents.Load())
		}
		after.note(t, owners[1], "Something else is written")
		if all, err = after.Vectors.ReembedAll(ctx, true, ""); err != nil || all.Memories != 13 {
			t.Errorf("after a write: %+v, %v; want 13 memories", all, err)
		}
	})
}

func TestOldVectorsAreGivenUpAfterTheSwitchAlone(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		old, next := &alike{name: "old"}, &alike{name: "next"}
		after, owners := threeOf(t, r, old, next, 5)
		const was = "alike:old"
		if _, err := after.Vectors.Prune(ctx, false, ana); !errors.Is(err, memory.Conflict) {
			t.Errorf("before the switch: %v, want a conflict", err)
		}
		noError(t)(after.Vectors.ReembedAll(ctx, false, ""))
		noError(t)(after.give(ctx))
		for _, dry := range []bool{true, false} {
			if got, err := after.Vectors.Prune(ctx, dry, ana); err != nil || !slices.Equal(got, []vectors.PrunedVectors{{Model: was, Owners: 1, Count: 5}}) {
				t.Errorf("dry %v: %+v, %v; want 5 by the old one", dry, got, err)
			}
		}
		if got, err := after.Vectors.Prune(ctx, false, ana); err != nil || len(got) != 0 {
			t.Errorf("again: %+v, %v; want nothing left", got, err)
		}
		if got, err := after.Vectors.PruneAll(ctx, false); err != nil || !slices.Equal(got, []vectors.PrunedVectors{{Model: was, Owners: 2, Count: 10}}) {
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
		if all, err := back.Vectors.ReembedAll(ctx, true, ""); err != nil || all.Lacking != 5*len(owners) {
			t.Errorf("back to the old: %+v, %v; want all lacking", all, err)
		}
		noError(t)(back.Vectors.ReembedAll(ctx, false, ""))
		noError(t)(back.give(ctx))
		if hits, by := back.compared(t, "oolong tea"); by != hits || old.documents.Load() != embedded+15 {
			t.Errorf("embedded again: %d of %d hits compared by vector, %d texts; want all, 15", by, hits, old.documents.Load()-embedded)
		}
	})
}

// angled is an embedder by which a question has one cosine with every memory, and a far
// smaller one with those that others of its kind embedded.
type angled struct {
	alike
	axis   int
	cosine float32
}

func (a *angled) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	out, err := a.alike.Embed(ctx, as, texts...)
	for i := range out {
		out[i] = make([]float32, a.Dims())
		out[i][a.axis] = 1
		if as == memory.AsQuestion {
			for axis := range 3 {
				out[i][axis] = 0.1
			}
			out[i][a.axis] = a.cosine
			out[i][7] = float32(math.Sqrt(float64(1 - a.cosine*a.cosine - 0.02)))
		}
	}
	return out, err
}

// At every step of writing, forgetting, rewording, embedding, dying, going back and giving up
// vectors, what recall compares by vector is compared by the embedder in use, and all
// is or nothing, but for one in a hundred.
func TestRecallNeverSeesVectorsOfTwoModels(t *testing.T) {
	steps := 20
	if partly || testing.Short() {
		steps = 8
	}
	for seed := range uint64(seeds - 1) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			ctx := context.Background()
			random := rand.New(rand.NewPCG(seed, 9))
			r := newRig(t, stores["inmem"])
			models := []*angled{{alike{name: "zero"}, 0, 0.25}, {alike{name: "one"}, 1, 0.5}, {alike{name: "two"}, 2, 0.75}}
			at := 0
			on := again(t, r.Store, r.clock, models[at])
			written, seen, byVector, checks := 0, 0, 0, 0
			var facts []memory.Fact
			check := func(after string) {
				t.Helper()
				checks++
				all := written
				found := try(on.Retrieve.Recall(ctx, retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "oolong tea", TopK: &all})).orFail(t)
				by := 0
				for _, h := range found.Hits {
					if v := h.Why.Get("vector"); v != 0 {
						by++
						if d := v - float64(models[at].cosine); d > 0.01 || d < -0.01 {
							t.Fatalf("after %s: a cosine of %v; the embedder in use gives %v", after, v, models[at].cosine)
						}
					}
				}
				if all = len(found.Hits); by != 0 && (all-by)*100 > all {
					t.Fatalf("after %s: %d of %d hits compared by vector", after, by, all)
				}
				seen = max(seen, all)
				if by > 0 {
					byVector++
				}
			}
			for range steps {
				step := []string{"write", "write", "forget", "reword", "switch", "embed", "embed in part", "prune"}[random.IntN(8)]
				switch step {
				case "write":
					for range vectors.EmbedBatch + random.IntN(vectors.EmbedBatch) {
						facts = append(facts, on.note(t, ana, fmt.Sprintf("Ana's tea number %d is oolong", written)))
						written++
					}
				case "forget", "reword":
					if len(facts) == 0 {
						continue
					}
					i := random.IntN(len(facts))
					if step == "forget" {
						noError(t)(on.Curate.Forget(ctx, ana, []string{facts[i].ID}, "", her))
						facts = slices.Delete(facts, i, i+1)
						break
					}
					words := fmt.Sprintf("Ana's tea is oolong of lot %d", random.Int64())
					f := try(on.Curate.EditFact(ctx, ana, facts[i].ID, curate.FactEdit{Content: &words}, her)).orFail(t)
					facts[i] = f
				case "switch": // which is a start with another setting
					at = random.IntN(len(models))
					on = again(t, r.Store, r.clock, models[at])
				case "embed", "embed in part":
					noError(t)(on.Vectors.Reembed(ctx, ana, false, ""))
					batches := 0
					models[at].fails = func(documents []string) error {
						if len(documents) > 1 {
							check("a batch") // what is there so far
							if batches++; step == "embed in part" && batches > 1 {
								return errors.New("killed")
							}
						}
						return nil
					}
					err := on.give(ctx)
					models[at].fails = nil
					if err != nil && step == "embed" {
						t.Fatal(err)
					}
				case "prune":
					if _, err := on.Vectors.Prune(ctx, false, ana); err != nil && !errors.Is(err, memory.Conflict) {
						t.Fatal(err)
					}
				}
				check(step)
			}
			if !partly && (seen < 100 || byVector == 0 || byVector == checks) {
				t.Errorf("%d hits at most, by vector %d of %d times: this shows nothing", seen, byVector, checks)
			}
		})
	}
}
