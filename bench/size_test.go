package main

import (
	"errors"
	"testing"

	"github.com/loci-memory/loci/memory"
)

func TestSizeCountsWhatIsResident(t *testing.T) {
	var got []Sized
	o := SizeOptions{Users: 100, Each: 10, Resident: 100, Requests: 20_000, Budgets: []int64{999, 10_000, 50_000, 1_000_000}}
	if _, err := Size(o, func(s Sized) { got = append(got, s) }); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 10, 50, 100} {
		if got[i].Users != want {
			t.Errorf("%d bytes: got %d users, want %d", got[i].Budget, got[i].Users, want)
		}
		if i > 0 && got[i].Hits <= got[i-1].Hits {
			t.Errorf("%d bytes: got a hit rate of %v, want more than with less", got[i].Budget, got[i].Hits)
		}
	}
	if got[0].Hits != 0 || got[3].Hits != 1 {
		t.Errorf("got %+v; want no hit without room, and nothing else with room for all", got)
	}
	if _, err := Size(SizeOptions{Popularity: 1}, func(Sized) {}); !errors.Is(err, memory.Invalid) {
		t.Errorf("got %v, want it invalid", err)
	}
}

// TestTheLeastRecentlyUsedLeaves follows one user after the other.
func TestTheLeastRecentlyUsedLeaves(t *testing.T) {
	r := newRecent(2)
	for i, step := range []struct {
		user uint64
		hit  bool
	}{{1, false}, {2, false}, {1, true}, {3, false}, {1, true}, {2, false}, {3, false}} {
		if got := r.ask(step.user); got != step.hit {
			t.Errorf("step %d, user %d: got %v, want %v", i+1, step.user, got, step.hit)
		}
	}
}
