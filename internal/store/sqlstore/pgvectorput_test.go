package sqlstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// wholeOf counts what the server should know of an owner, from what recall may see.
func wholeOf(t *testing.T, s *Store, owner memory.Owner) memory.Whole {
	t.Helper()
	w := memory.Whole{Kinds: map[memory.Kind]memory.Amount{memory.KindFact: {}, memory.KindTurn: {}, memory.KindSummary: {}}}
	type turn struct {
		place  int
		length int64
	}
	conversations := map[string][]turn{}
	_, err := s.Since(t.Context(), owner, nearModel, 0, func(i memory.Item) error {
		if i.Removed {
			return nil
		}
		_, length := termsOf(i.Memory)
		kind := memory.KindFact
		if x := i.Memory.Turn; x != nil {
			kind = memory.KindTurn
			conversations[x.Conversation] = append(conversations[x.Conversation], turn{x.Index, length})
		}
		w.Kinds[kind] = memory.Amount{Memories: w.Kinds[kind].Memories + 1, Length: w.Kinds[kind].Length + length}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range conversations {
		slices.SortFunc(c, func(a, b turn) int { return a.place - b.place })
		for n, x := range c {
			for _, before := range []int{n, len(c) - 1 - n} {
				if before < len(w.Ends) {
					w.Ends[before] += x.length
				}
			}
		}
	}
	return w
}

// TestNearKnowsHowLongMemoriesAre writes, retires, brings back and erases, and compares
// the sums that are kept with those of all there is.
func TestNearKnowsHowLongMemoriesAre(t *testing.T) {
	s := openNear(t, pgtest.Vector(t, true))
	sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
	buildNear(t, s, memtest.Ana)
	r := rand.New(rand.NewPCG(5, 5))
	said := map[string][]memory.Turn{}
	for step := range 40 {
		c := fmt.Sprint("c", r.IntN(4))
		one := func() memory.Turn { return said[c][r.IntN(len(said[c]))] }
		what, err := "say", error(nil)
		switch x := r.IntN(6); {
		case x < 3 || len(said[c]) == 0:
			texts := make([]string, 1+r.IntN(3))
			for i := range texts {
				texts[i] = fmt.Sprint("the boat and the harbour "[:10+r.IntN(14)], " and ", step)
			}
			b := memtest.Batch(memtest.Ana, c, len(said[c]), texts...)
			said[c] = append(said[c], b.Turns...)
			_, err = s.Append(t.Context(), memtest.Ana, b)
		case x == 3:
			what = "retire"
			_, err = s.Apply(t.Context(), memtest.Ana, memtest.Run(fmt.Sprint("retire ", step)), memtest.TurnMark(memory.ActionRetire, one().ID, memory.Retired))
		case x == 4:
			what = "erase"
			_, err = s.Erase(t.Context(), memtest.Ana, memtest.Run(fmt.Sprint("erase ", step)), one().ID)
		default:
			what = "learn"
			_, err = s.Apply(t.Context(), memtest.Ana, memtest.Run(fmt.Sprint("learn ", step)), memtest.Add(memtest.Fact(memtest.Ana, fmt.Sprint("there is a boat ", step))))
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := s.FollowNear(t.Context(), memtest.Ana, nearModel); err != nil {
			t.Fatal(err)
		}
		found, err := s.Nearest(t.Context(), memtest.Ana, nearModel, askNear("boat"))
		if err != nil {
			t.Fatal(err)
		}
		want := wholeOf(t, s, memtest.Ana)
		for kind, amount := range want.Kinds {
			if found.Whole.Kinds[kind] != amount {
				t.Fatalf("step %d, %s: %s: got %+v, want %+v", step, what, kind, found.Whole.Kinds[kind], amount)
			}
		}
		if found.Whole.Ends != want.Ends {
			t.Fatalf("step %d, %s: ends: got %v, want %v", step, what, found.Whole.Ends, want.Ends)
		}
	}
}

// TestNearReadsWhatIsAroundIt asks for one turn of many, whose words count for its
// neighbours too: they may answer as well, and those around them are read for that.
func TestNearReadsWhatIsAroundIt(t *testing.T) {
	s := openNear(t, pgtest.Vector(t, true))
	texts := make([]string, 20)
	for i := range texts {
		texts[i] = fmt.Sprint("nothing much, turn ", i)
	}
	texts[10] = "the zebra is in the cellar"
	b := memtest.Batch(memtest.Ana, "c", 0, texts...)
	if _, err := s.Append(t.Context(), memtest.Ana, b); err != nil {
		t.Fatal(err)
	}
	buildNear(t, s, memtest.Ana)
	found, err := s.Nearest(t.Context(), memtest.Ana, nearModel, askNear("zebra"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]bool{}
	for _, i := range found.Items {
		got[i.Memory.Turn.Index] = !found.Beside[i.ID]
	}
	for place := range texts {
		answers, there := got[place]
		if want := place >= 4 && place <= 16; there != want || answers != (place >= 7 && place <= 13) {
			t.Errorf("turn %d: read %v, answers %v; want what is within three turns to answer, and what is within six to be read", place, there, answers)
		}
	}
}

// TestNearTakesThreeWays: what there is, what is found, and what that is.
func TestNearTakesThreeWays(t *testing.T) {
	address := pgtest.Vector(t, true)
	w := countWays(t, address)
	s := openNear(t, w.address)
	turn := sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
	if _, err := s.Apply(t.Context(), memtest.Ana, memtest.Run("facts"), memtest.Add(memtest.Fact(memtest.Ana, "the boat has a name"))); err != nil {
		t.Fatal(err)
	}
	buildNear(t, s, memtest.Ana)
	least := int64(1000)
	for range 6 { // the first have statements prepared
		q := askNear("the boat")
		q.ByWords, q.Vector, q.Limit = false, []float32{1, 0, 0.5}, 1
		before := w.n.Load()
		found, err := s.Nearest(t.Context(), memtest.Ana, nearModel, q)
		if err != nil || len(found.Items) == 0 {
			t.Fatalf("got %v, %v, want %s", found.Items, err, turn.ID)
		}
		least = min(least, w.n.Load()-before)
	}
	if least != 3 {
		t.Errorf("a search takes %d ways, want 3", least)
	}
}

// TestNearWithoutLengthsIsMadeAnew has tables as the first copies had them.
func TestNearWithoutLengthsIsMadeAnew(t *testing.T) {
	address := pgtest.Vector(t, true)
	s := openNear(t, address)
	secret := sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
	sayNear(t, s, memtest.Ana, "c", 1, "the boat is red")
	buildNear(t, s, memtest.Ana)
	if _, err := pgtest.Open(t, address).Exec(`ALTER TABLE near DROP COLUMN length; ALTER TABLE near_state DROP COLUMN facts, DROP COLUMN turn_length`); err != nil {
		t.Fatal(err)
	}
	s = openNear(t, address)
	if _, err := s.Nearest(t.Context(), memtest.Ana, nearModel, askNear("boat")); !errors.Is(err, memory.NotFound) {
		t.Errorf("a search: got %v, want %v", err, memory.NotFound)
	}
	if _, err := s.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), secret.ID); err != nil {
		t.Errorf("erase: %v", err)
	}
	buildNear(t, s, memtest.Ana)
	if got := foundNear(t, s, askNear("boat")); len(got) != 1 || !got["the boat is red"] {
		t.Errorf("after it was built anew: got %v, want what was not erased", got)
	}
}
