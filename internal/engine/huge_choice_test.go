package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// fakeResident is an index that finds one memory of each owner and tells what it was
// asked to drop.
type fakeResident struct {
	asked   []memory.Owner
	dropped chan memory.Owner
}

func (f *fakeResident) Search(_ context.Context, s memory.Search) ([]memory.Candidate, error) {
	var out []memory.Candidate
	for _, scope := range s.Scopes {
		f.asked = append(f.asked, scope.Owner)
		out = append(out, memory.Candidate{ID: "resident", Owner: scope.Owner, Score: 0.01})
	}
	return out, nil
}

func (f *fakeResident) Warm(memory.Owner) {}

func (f *fakeResident) Drop(o memory.Owner) error { f.dropped <- o; return nil }

// fakeServer is a database in which Ana has very much.
type fakeServer struct {
	ready  bool
	built  chan struct{} // gets one when a build begins
	finish chan struct{} // ends it
	bare   int
	err    error         // that a search ends with
	behind int           // steps that are left to do
	counts time.Duration // how long it counts
	fails  error         // that counting ends with
	asked  int           // how often it counted
}

func (f *fakeServer) FollowNear(ctx context.Context, _ memory.Owner, _ string) error {
	for ; f.behind > 0; f.behind-- {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (f *fakeServer) TidyNear(context.Context, memory.Owner, string) error { return nil }

func (f *fakeServer) Exceeds(ctx context.Context, o memory.Owner, _ int) (bool, error) {
	f.asked++
	select {
	case <-time.After(f.counts):
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return o == memtest.Ana, f.fails
}

func (f *fakeServer) BuildNear(ctx context.Context, _ memory.Owner, _ string) (bool, error) {
	f.built <- struct{}{}
	select {
	case <-f.finish:
	case <-ctx.Done():
	}
	return false, ctx.Err()
}

func (f *fakeServer) Nearest(_ context.Context, o memory.Owner, _ string, _ memory.Search) ([]memory.Item, int, map[string]int, int, error) {
	if !f.ready {
		return nil, 0, nil, 0, memory.Errorf(memory.NotFound, "not yet")
	}
	if f.err != nil {
		return nil, 0, nil, 0, f.err
	}
	if f.behind > 0 {
		return nil, 0, nil, 0, memory.Errorf(memory.Conflict, "behind")
	}
	fact := memtest.Fact(o, "the boat is blue")
	return []memory.Item{{ID: fact.ID, Memory: memory.Memory{Fact: &fact}}}, 1, nil, f.bare, nil
}

func TestHugeChoosesWhoSearches(t *testing.T) {
	resident := &fakeResident{dropped: make(chan memory.Owner, 9)}
	server := &fakeServer{built: make(chan struct{}, 9), finish: make(chan struct{})}
	lacking := make(chan int, 9)
	h := NewHuge(resident, server, HugeOptions{Model: "m", Most: 1 << 20, Log: slog.New(slog.DiscardHandler), Lacking: func(_ memory.Owner, n int) { lacking <- n }})
	search := func(at memory.At, owners ...memory.Owner) []memory.Candidate {
		t.Helper()
		s := memory.Search{Text: "the boat", At: at, Limit: 10}
		for _, o := range owners {
			s.Scopes = append(s.Scopes, memory.Scope{Owner: o})
		}
		resident.asked = nil
		found, err := h.Search(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	asked := func(when string, want ...memory.Owner) {
		t.Helper()
		if !slices.Equal(resident.asked, want) {
			t.Errorf("%s: the index was asked for %q, want %q", when, resident.asked, want)
		}
	}
	search(memory.At{}, memtest.Ben)
	asked("who has little", memtest.Ben)
	search(memory.At{}, memtest.Ana)
	asked("before the database is ready", memtest.Ana)
	<-server.built
	search(memory.At{}, memtest.Ana)
	asked("while it is made ready", memtest.Ana)

	server.ready = true
	found := search(memory.At{}, memtest.Ana, memtest.Ben)
	asked("once it is ready", memtest.Ben)
	if len(found) != 2 || found[0].Owner != memtest.Ana || found[0].Found.Lexical == 0 || found[1].Owner != memtest.Ben {
		t.Errorf("got %+v, want what both have, measured", found)
	}
	if o := <-resident.dropped; o != memtest.Ana {
		t.Errorf("the index of %q was dropped, want Ana's", o)
	}
	search(memory.At{ValidAt: memtest.Epoch}, memtest.Ana)
	asked("of the past", memtest.Ana)
	server.bare = 3
	search(memory.At{}, memtest.Ana)
	if n := <-lacking; n != 3 {
		t.Errorf("%d lack a vector, want 3", n)
	}
	if err := h.Close(); err != nil { // which breaks the build off
		t.Fatal(err)
	}
	if more := len(server.built) + len(resident.dropped) + len(lacking); more > 0 {
		t.Errorf("%d things were done more than once", more)
	}
}

// hugeScene is a database in which Ana has very much, and an index, in a bubble of time.
type hugeScene struct {
	*testing.T
	*Huge
	resident *fakeResident
	server   *fakeServer
}

func inHugeScene(t *testing.T, do func(*hugeScene)) {
	synctest.Test(t, func(t *testing.T) {
		s := &hugeScene{T: t, resident: &fakeResident{dropped: make(chan memory.Owner, 9)}, server: &fakeServer{ready: true}}
		s.Huge = NewHuge(s.resident, s.server, HugeOptions{Model: "m", Most: 1 << 20, Log: slog.New(slog.DiscardHandler)})
		do(s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// by asks within half a second, and returns whether the index answered.
func (s *hugeScene) by() (index bool) {
	s.Helper()
	ctx, stop := context.WithTimeout(s.Context(), 500*time.Millisecond)
	defer stop()
	found, err := s.Search(ctx, memory.Search{Scopes: []memory.Scope{{Owner: memtest.Ana}}, Text: "the boat", Limit: 10})
	if err != nil || len(found) != 1 {
		s.Fatalf("got %+v, %v; want one memory", found, err)
	}
	return found[0].ID == "resident"
}

func TestHugeCountsBesideSearches(t *testing.T) {
	inHugeScene(t, func(s *hugeScene) {
		s.server.counts = 5 * time.Second
		for range 5 {
			if !s.by() {
				s.Error("before it was counted the database was asked")
			}
		}
		time.Sleep(s.server.counts)
		synctest.Wait()
		if s.by() || s.server.asked != 1 {
			s.Errorf("it was counted %d times, and the database does not search; want once", s.server.asked)
		}
	})
}

func TestHugeCountsAFailureAsAnAnswer(t *testing.T) {
	inHugeScene(t, func(s *hugeScene) {
		s.server.fails = errors.New("no")
		for range lookAgain {
			s.by()
		}
		if s.server.asked != 1 {
			s.Errorf("it was counted %d times, want once", s.server.asked)
		}
		s.server.fails = nil
		if s.by(); s.by() {
			s.Error("it was not counted again")
		}
	})
}

func TestHugeFallsBackToTheIndex(t *testing.T) {
	inHugeScene(t, func(s *hugeScene) {
		s.server.err = errors.New("the database fails")
		if !s.by() {
			s.Error("the database failed, and the index was not asked")
		}
		s.server.err = nil
		if s.by() {
			s.Error("the database is well again, and the index was asked")
		}
		ctx, stop := context.WithCancel(s.Context())
		stop()
		s.server.err = ctx.Err()
		if _, err := s.Search(ctx, memory.Search{Scopes: []memory.Scope{{Owner: memtest.Ana}}}); !errors.Is(err, context.Canceled) {
			s.Errorf("of a search that was given up: got %v, want %v", err, context.Canceled)
		}
	})
}

// TestHugeCatchesUpBesideSearches lets the database be behind for longer than a search has.
func TestHugeCatchesUpBesideSearches(t *testing.T) {
	inHugeScene(t, func(s *hugeScene) {
		s.by()
		s.server.behind = 3
		for range 4 { // none takes half a second
			if !s.by() {
				s.Error("the database is behind, and was taken as it is")
			}
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if s.by() {
			s.Error("the database caught up, and the index was asked")
		}
		s.server.behind = 1
		s.Warm(memtest.Ana)
		time.Sleep(time.Second)
		synctest.Wait()
		if s.server.behind != 0 {
			s.Error("the database was not brought up to date before it was asked")
		}
	})
}
