package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

var lexicalModel = new(memtest.Embedder).Fingerprint()

type sinceFunc func(ctx context.Context, owner memory.Owner, model string, after int64, yield func(memory.Item) error) (int64, error)

func items(t *testing.T, since sinceFunc, model string, after int64) ([]memory.Item, int64) {
	t.Helper()
	var all []memory.Item
	version, err := since(t.Context(), memtest.Ana, model, after, func(i memory.Item) error { all = append(all, i); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return all, version
}

// TestATailIsWhatTheDatabaseSays writes at random and asks after each write for all
// that is newer than each version before it.
func TestATailIsWhatTheDatabaseSays(t *testing.T) {
	r := newRig(t)
	chance := rand.New(rand.NewPCG(1, 2))
	vector := func(turn memory.Turn) memory.Vector { return memtest.Vector(turn.ID, turn.Content) }
	var told, fromTail int
	var turns []memory.Turn
	for step := range 100 {
		b := memtest.Batch(memtest.Ana, fmt.Sprint("c", chance.IntN(3)), 1000*step, "one more thing", "yes", "")
		switch chance.IntN(12) {
		case 0: // a fact
			if _, err := r.Apply(t.Context(), memtest.Ana, memtest.Run(fmt.Sprint(step)), memtest.Add(memtest.Fact(memtest.Ana, fmt.Sprint("fact ", step)))); err != nil {
				t.Fatal(err)
			}
		case 1: // nothing but the mark of having learned
			run := memtest.Run(fmt.Sprint(step))
			for _, turn := range turns {
				run.Learned = append(run.Learned, turn.ID)
			}
			if _, err := r.Apply(t.Context(), memtest.Ana, run); err != nil {
				t.Fatal(err)
			}
		default:
			for range chance.IntN(4) {
				b.Vectors = append(b.Vectors, vector(b.Turns[chance.IntN(len(b.Turns))]))
			}
			if len(turns) > 0 && chance.IntN(8) == 0 { // of an older turn
				b.Vectors = append(b.Vectors, vector(turns[chance.IntN(len(turns))]))
			}
			if len(turns) > 0 && chance.IntN(8) == 0 {
				b.Run = fmt.Sprint("marks ", step)
				b.Marks = append(b.Marks, memtest.TurnMark(memory.ActionUpdate, turns[chance.IntN(len(turns))].ID, memory.Replaced))
			}
			if chance.IntN(8) == 0 && len(turns) > 0 { // said again
				b.Turns[0] = turns[chance.IntN(len(turns))]
				b.Conversation.ID = b.Turns[0].Conversation
				b.Turns, b.Vectors = b.Turns[:1], nil
			}
			if _, err := r.Append(t.Context(), memtest.Ana, b); err != nil {
				t.Fatal(err)
			}
			turns = append(turns, b.Turns...)
		}
		_, version := items(t, r.readSince, lexicalModel, 0)
		for after := version; after > 0 && after > version-12; after-- {
			for _, model := range []string{lexicalModel, "another"} {
				got, at := items(t, r.Since, model, after)
				want, wantAt := items(t, r.readSince, model, after)
				if at != wantAt || !reflect.DeepEqual(got, want) {
					t.Fatalf("step %d, since %d of %d:\ngot  %+v at %d\nwant %+v at %d", step, after, version, got, at, want, wantAt)
				}
			}
			told++
			if _, _, ok := r.known.tails.since(memtest.Ana, after); ok {
				fromTail++
			}
		}
	}
	if fromTail < told/10 {
		t.Errorf("of %d questions %d were answered from memory", told, fromTail)
	}
}

// TestATailIsTheCallersAlone changes what it was given.
func TestATailIsTheCallersAlone(t *testing.T) {
	r := newRig(t)
	for i := range 2 {
		b := memtest.Batch(memtest.Ana, "c", 10*i, "one more thing")
		b.Vectors = []memory.Vector{memtest.Vector(b.Turns[0].ID, b.Turns[0].Content)}
		if _, err := r.Append(t.Context(), memtest.Ana, b); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, ok := r.known.tails.since(memtest.Ana, 1); !ok {
		t.Fatal("what was just said is not known")
	}
	mine, _ := items(t, r.Since, lexicalModel, 1)
	mine[0].Memory.Turn.Content = "another"
	clear(mine[0].Vector)
	got, _ := items(t, r.Since, lexicalModel, 1)
	want, _ := items(t, r.readSince, lexicalModel, 1)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTailsAreBounded(t *testing.T) {
	var ts tails
	version := int64(0)
	add := func(owner memory.Owner, n, bytes int) {
		version++
		w := appended{owner: owner, version: version, only: true}
		for i := range n {
			turn := memtest.Turn(owner, "c", i, memory.RoleUser, strings.Repeat("x", bytes))
			turn.Version = version
			w.turns = append(w.turns, said{turn: turn})
		}
		ts.committed([]appended{w}, nil)
	}
	for range 50 {
		add(memtest.Ana, 3, 10)
	}
	kept := ts.of[memtest.Ana]
	if len(kept.turns) > maxTail || len(kept.turns) < maxTail-3 || kept.turns[0].turn.Version != kept.from+1 {
		t.Errorf("%d turns are kept from %d on, want at most %d, all after version %d", len(kept.turns), kept.turns[0].turn.Version, maxTail, kept.from)
	}
	if _, _, ok := ts.since(memtest.Ana, kept.from-1); ok {
		t.Error("what was dropped counts as known")
	}
	add(memtest.Ana, maxTail+1, 10)
	if _, _, ok := ts.since(memtest.Ana, version); ok || ts.size != 0 {
		t.Errorf("much at once is kept, %d bytes", ts.size)
	}
	for i := range 3000 {
		add(memory.User("default", fmt.Sprint(i)), 1, 4000)
		if ts.size > maxTails {
			t.Fatalf("%d bytes are kept, want at most %d", ts.size, maxTails)
		}
	}
	if len(ts.of) == 0 {
		t.Error("nothing is kept")
	}
	for owner := range maps.Clone(ts.of) {
		ts.forget(owner)
	}
	if ts.size != 0 {
		t.Errorf("%d bytes of nothing", ts.size)
	}
}

func TestATailForgetsWithAFailedCommit(t *testing.T) {
	var ts tails
	w := appended{owner: memtest.Ana, version: 1, only: true}
	ts.committed([]appended{w}, nil)
	w.version = 2
	ts.committed([]appended{w}, errors.New("disk full"))
	if _, _, ok := ts.since(memtest.Ana, 1); ok {
		t.Error("after a commit that failed it still counts as known")
	}
}
