package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// core is what every chat asks about an owner's facts.
type core struct {
	Pinned  []memory.Memory
	Profile []memory.ProfileEntry
	Next    map[string][]string
	Before  map[string][]memory.Fact
}

func (r *rig) core(turns ...string) (c core) {
	r.t.Helper()
	page, err1 := r.List(context.Background(), memtest.Ana, memory.Query{Pinned: true})
	profile, err2 := r.Profile(context.Background(), memtest.Ana, memory.At{})
	next, err3 := r.SupersededBy(context.Background(), memtest.Ana, turns)
	var facts []string
	for step := range 120 {
		facts = append(facts, fmt.Sprint("after ", step))
	}
	before, err4 := r.Predecessors(context.Background(), memtest.Ana, facts)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		r.t.Error(err)
	}
	return core{append([]memory.Memory{}, page.Memories...), append([]memory.ProfileEntry{}, profile...), next, before}
}

// TestWhatIsSettledIsWhatTheDatabaseSays changes what every chat asks for at random,
// while turns are added, and forgets nothing too early.
func TestWhatIsSettledIsWhatTheDatabaseSays(t *testing.T) {
	r := newRig(t)
	chance := rand.New(rand.NewPCG(1, 2))
	var facts []memory.Fact
	turns := []string{memtest.Turn(memtest.Ana, "c", 0, memory.RoleUser, "").ID, memtest.Turn(memtest.Ana, "c", 1, memory.RoleAssistant, "").ID}
	for step := range 120 {
		run := memtest.Run(fmt.Sprint(step))
		var changes []memory.Change
		kind, said := chance.IntN(8), false
		switch {
		case kind < 2 || kind < 5 && len(facts) == 0:
			f := memtest.Fact(memtest.Ana, fmt.Sprint("fact ", step))
			f.Core = memory.Pin(chance.IntN(2) == 0)
			f.Provenance.Turns = turns[:1+chance.IntN(2)]
			facts = append(facts, f)
			changes = append(changes, memtest.Add(f))
		case kind < 5:
			i := chance.IntN(len(facts))
			facts[i].Core = memory.Pin(!facts[i].Pinned())
			action := memory.ActionUpdate
			if facts[i].Status.Live() && chance.IntN(2) == 0 {
				facts[i].Status, facts[i].SupersededBy = memory.Superseded, fmt.Sprint("after ", step)
			}
			changes = append(changes, memtest.Change(action, facts[i]))
		case kind == 5:
			changes = append(changes, memtest.Change(memory.ActionUpdate, memtest.Profile(memtest.Ana, "name", fmt.Sprint("value ", step))))
			if step < 20 {
				changes[0].Action = memory.ActionAdd
			}
		default:
			said = true
			if _, err := r.Append(t.Context(), memtest.Ana, memtest.Batch(memtest.Ana, "talk", 10*step, "one more thing")); err != nil {
				t.Fatal(err)
			}
		}
		if len(changes) > 0 {
			if _, err := r.Apply(t.Context(), memtest.Ana, run, changes...); err != nil && !errors.Is(err, memory.Conflict) {
				t.Fatal(err)
			}
		}
		known := r.known.factCache.of[memtest.Ana] != nil
		if step > 0 && known != said && said {
			t.Errorf("step %d: a turn makes what is settled forgotten", step)
		}
		got := r.core(turns...)
		r.known.factCache.of = nil
		if want := r.core(turns...); !reflect.DeepEqual(got, want) {
			t.Fatalf("step %d:\ngot  %+v\nwant %+v", step, got, want)
		}
		again := r.core(turns...)
		for i := range again.Pinned {
			again.Pinned[i].Fact.Content = "another" // it is the caller's alone
		}
		for _, before := range again.Before {
			before[0].Content, before[0].Provenance.Turns[0] = "another", "another"
		}
	}
	if c := r.core(turns...); len(c.Next) == 0 || len(c.Before) == 0 {
		t.Error("no turn's fact was superseded")
	}
}

// TestSettledSeesEveryAcknowledgedWrite changes a pinned fact and a profile entry,
// again and again, while others read them.
func TestSettledSeesEveryAcknowledgedWrite(t *testing.T) {
	const writes = 60
	r := newRig(t)
	fact, entry := memtest.Fact(memtest.Ana, "one"), memtest.Profile(memtest.Ana, "k", "")
	fact.Core = memory.CoreAlways
	if _, err := r.Apply(t.Context(), memtest.Ana, memtest.Run("first"), memtest.Add(fact), memtest.Change(memory.ActionAdd, entry)); err != nil {
		t.Fatal(err)
	}
	var acknowledged atomic.Int64
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				before := acknowledged.Load()
				c := r.core()
				if got := c.Pinned[0].Fact.ObservedSeq; got < before {
					t.Errorf("the pinned fact is of write %d, after %d was acknowledged", got, before)
				}
				if got := int64(strings.Count(c.Profile[0].Value, "x")); got < before {
					t.Errorf("the profile is of write %d, after %d was acknowledged", got, before)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range int64(writes) {
		fact.ObservedSeq, entry.Value = i+1, strings.Repeat("x", int(i)+1)
		if _, err := r.Apply(t.Context(), memtest.Ana, memtest.Run(fmt.Sprint(i)),
			memtest.Change(memory.ActionUpdate, fact), memtest.Change(memory.ActionUpdate, entry)); err != nil {
			t.Fatal(err)
		}
		acknowledged.Store(i + 1)
	}
	close(done)
	readers.Wait()
}

// TestWhatTookThePlaceOfFewFactsIsKnownOfAllTurns asks of one turn, and then of others.
func TestWhatTookThePlaceOfFewFactsIsKnownOfAllTurns(t *testing.T) {
	r := newRig(t)
	turn := func(i int) string { return memtest.Turn(memtest.Ana, "c", i, memory.RoleUser, "").ID }
	for i := range maxSettledFacts + 1 {
		f := memtest.Fact(memtest.Ana, fmt.Sprint("fact ", i))
		f.Status, f.SupersededBy, f.Provenance.Turns = memory.Superseded, fmt.Sprint("after ", i), []string{turn(i), "shared"}
		if _, err := r.Apply(t.Context(), memtest.Ana, memtest.Run(fmt.Sprint(i)), memtest.Add(f)); err != nil {
			t.Fatal(err)
		}
		if i > 0 && i < maxSettledFacts-1 {
			continue
		}
		r.known.factCache.of = nil
		got, err := r.SupersededBy(t.Context(), memtest.Ana, []string{turn(i), "none"})
		if want := map[string][]string{turn(i): {f.SupersededBy}}; err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("of %d superseded: %v, %v, want %v", i+1, got, err, want)
		}
		got, known, _ := r.known.factCache.supersededBy(memtest.Ana, []string{"other", "shared"})
		if few := i < maxSettledFacts; known != few || few && len(got["shared"]) != i+1 {
			t.Errorf("of %d superseded another turn's are known: %v, %v", i+1, known, got)
		}
	}
}

func TestSettledForgetsWhatIsOlderThanACommit(t *testing.T) {
	var s factCache
	_, _, asked := s.profileOf(memtest.Ana)
	s.committed([]written{{owner: memtest.Ana, facts: true}}, nil)
	s.learnProfile(memtest.Ana, nil, asked) // read before the commit
	if _, known, _ := s.profileOf(memtest.Ana); known {
		t.Error("what was read before a commit is kept after it")
	}
	_, _, asked = s.profileOf(memtest.Ana)
	s.learnProfile(memtest.Ana, nil, asked)
	if _, known, _ := s.profileOf(memtest.Ana); !known {
		t.Error("what was read since is not kept")
	}
	s.committed([]written{{owner: memtest.Ana}}, errors.New("disk full"))
	if _, known, _ := s.profileOf(memtest.Ana); known {
		t.Error("after a commit that failed it is still kept")
	}
}

func TestSettledIsBounded(t *testing.T) {
	var s factCache
	entry := []memory.ProfileEntry{memtest.Profile(memtest.Ana, "k", strings.Repeat("x", 10_000))}
	for i := range 2000 {
		s.learnProfile(memory.User("default", fmt.Sprint(i)), entry, 0)
	}
	if most := maxSettled/10_000 + 1; len(s.of) > most || len(s.of) == 0 {
		t.Errorf("%d owners are kept, want at most %d", len(s.of), most)
	}
}
