package engine

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// plainStore hides what a store can do besides the contract.
type plainStore struct{ memory.Store }

// lines puts facts into the store that turns taught and that were replaced: one
// twice, one by what was forgotten since, one by nothing that is known, two by
// each other. Two ended with nothing in their place, one of them not yet.
func lines(t *testing.T, store memory.Store) {
	t.Helper()
	add := func(id string, turn string, by string, status memory.Status) memory.Change {
		f := memtest.Fact(ana, id)
		f.ID, f.Status, f.SupersededBy = id, status, by
		if turn != "" {
			f.Provenance.Turns = []string{turn, "other"}
		}
		return memtest.Add(f)
	}
	ends := func(id, turn string, in time.Duration) memory.Change {
		c := add(id, turn, "", memory.Retired)
		c.After.Fact.ValidTo = c.After.Fact.ObservedAt.Add(in)
		return c
	}
	noError(t)(store.Apply(context.Background(), ana, memtest.Run("lines"), ends("gym", "t6", time.Minute), ends("job", "t7", 9999*time.Hour),
		add("lisbon", "t1", "porto", memory.Superseded), add("porto", "t2", "faro", memory.Superseded), add("faro", "t3", "", memory.Active),
		add("tea", "t1", "mate", memory.Superseded), add("mate", "", "", memory.Active),
		add("bike", "t2", "car", memory.Superseded), add("car", "", "", memory.Retired),
		add("cat", "t4", "nothing", memory.Superseded),
		add("egg", "t5", "hen", memory.Superseded), add("hen", "t5", "egg", memory.Superseded)))
}

func TestSuccessorsAreFollowedToWhatHolds(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		lines(t, r.Store)
		rec := &retrieve.Source{Retriever: r.Retrieve, Question: retrieve.Question{Scope: memory.Scope{Owner: ana}}, Now: memory.Time(r.Now().Add(time.Hour))}
		turns := []string{"t1", "t2", "t3", "t4", "t5", "t6", "t7", "none"}
		found := try(rec.Successors(context.Background(), turns)).orFail(t)
		if gym := found["t6"]; len(gym) != 1 || gym[0].ObservedAt.IsZero() {
			t.Errorf("it says %+v of what ended, want its day", gym)
		}
		got := map[string][]string{}
		for turn, facts := range found {
			for _, f := range facts {
				got[turn] = append(got[turn], f.ID)
			}
			slices.Sort(got[turn])
		}
		if want := (map[string][]string{"t1": {"faro", "mate"}, "t2": {"", "faro"}, "t4": {""}, "t5": {""}, "t6": {""}}); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}

		quick := try(memory.SupersededBy(context.Background(), r.Store, ana, turns)).orFail(t)
		plain := try(memory.SupersededBy(context.Background(), plainStore{r.Store}, ana, turns)).orFail(t)
		if fmt.Sprint(quick) != fmt.Sprint(plain) {
			t.Errorf("at once: got %v, one by one %v", quick, plain)
		}
	})
}

// TestAFactIsToldWithWhatItTookThePlaceOf: not with what it only says more about, nor with
// what was forgotten or erased since.
func TestAFactIsToldWithWhatItTookThePlaceOf(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		older := r.note(t, ana, "User lives in Berlin")
		r.clock.Advance(time.Hour)
		r.note(t, ana, "User lives in Lisbon")
		ask := func() (was []string, block string) {
			t.Helper()
			p := r.prepare(t.Context(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "Where do I live?", Budget: 1500})
			for _, h := range p.Hits {
				for _, f := range h.Predecessors {
					was = append(was, h.Memory.Content()+" < "+f.Content)
				}
			}
			return was, p.Block
		}
		until := "[until " + r.Now().UTC().Format("2006-01-02 Mon") + ": User lives in Berlin]"
		if was, block := ask(); !slices.Equal(was, []string{"User lives in Lisbon < User lives in Berlin"}) || !strings.Contains(block, "User lives in Lisbon "+until) {
			t.Errorf("told with %q, in the prompt:\n%s", was, block)
		}
		noError(t)(r.Curate.ForgetMatching(t.Context(), ana, curate.ForgetRequest{IDs: []string{older.ID}, Erase: true}, her))
		if was, block := ask(); len(was) != 0 || strings.Contains(block, "Berlin") {
			t.Errorf("once that is erased it is told with %q, in the prompt:\n%s", was, block)
		}
	})
}
