package engine

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// plainStore hides what a store can do besides the contract.
type plainStore struct{ memory.Store }

// lines puts facts into the store that turns taught and that were replaced: one
// twice, one by what was forgotten since, one by nothing that is known, two by
// each other.
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
	_, err := store.Apply(context.Background(), ana, memtest.Run("lines"),
		add("lisbon", "t1", "porto", memory.Superseded), add("porto", "t2", "faro", memory.Superseded), add("faro", "t3", "", memory.Active),
		add("tea", "t1", "mate", memory.Superseded), add("mate", "", "", memory.Active),
		add("bike", "t2", "car", memory.Superseded), add("car", "", "", memory.Retired),
		add("cat", "t4", "nothing", memory.Superseded),
		add("egg", "t5", "hen", memory.Superseded), add("hen", "t5", "egg", memory.Superseded))
	if err != nil {
		t.Fatal(err)
	}
}

func TestSuccessorsAreFollowedToWhatHolds(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, open)
			lines(t, r.Store)
			rec := &recalling{e: r.Engine, q: Question{Scope: memory.Scope{Owner: ana}}, now: memory.Time(r.Now().Add(time.Hour))}
			turns := []string{"t1", "t2", "t3", "t4", "t5", "none"}
			found, err := rec.successors(context.Background(), turns)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{}
			for turn, facts := range found {
				for _, f := range facts {
					got[turn] = append(got[turn], f.ID)
				}
				slices.Sort(got[turn])
			}
			if want := (map[string][]string{"t1": {"faro", "mate"}, "t2": {"", "faro"}, "t4": {""}, "t5": {""}}); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}

			quick, err := memory.SupersededBy(context.Background(), r.Store, ana, turns)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := memory.SupersededBy(context.Background(), plainStore{r.Store}, ana, turns)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(quick) != fmt.Sprint(plain) {
				t.Errorf("at once: got %v, one by one %v", quick, plain)
			}
		})
	}
}
