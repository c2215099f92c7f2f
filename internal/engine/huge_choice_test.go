package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// fakeResident is an index that finds one memory of each owner and tells what it was
// asked to drop.
type fakeResident struct {
	asked   []memory.Owner
	dropped chan memory.Owner
	has     map[memory.Owner]int
}

func (f *fakeResident) Memories(o memory.Owner) int { return f.has[o] }

func (f *fakeResident) Search(_ context.Context, s memory.Search) ([]memory.Candidate, error) {
	var out []memory.Candidate
	for _, scope := range s.Scopes {
		f.asked = append(f.asked, scope.Owner)
		out = append(out, memory.Candidate{ID: "resident", Owner: scope.Owner, Score: 0.01})
	}
	return out, nil
}

func (f *fakeResident) Warm(memory.Owner) {}

func (*fakeResident) Standing(context.Context, memory.Owner, english.Topics, int) ([]string, error) {
	return nil, nil
}

func (f *fakeResident) Drop(o memory.Owner) error { f.dropped <- o; return nil }

// fakeServer is a database.
type fakeServer struct {
	ready  bool
	built  chan struct{} // gets one when a build begins
	finish chan struct{} // ends it
	bare   int
	err    error // that a search ends with
	behind int   // steps that are left to do
	huge   []memory.Owner
	lists  time.Duration // how long it takes to say so
	fails  error         // that this ends with
	asked  int           // how often it said so
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

func (f *fakeServer) ReadyNear(ctx context.Context, _ string, _ int) ([]memory.Owner, error) {
	f.asked++
	select {
	case <-time.After(f.lists):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return f.huge, f.fails
}

func (f *fakeServer) BuildNear(ctx context.Context, _ memory.Owner, _ string) (bool, error) {
	f.built <- struct{}{}
	select {
	case <-f.finish:
	case <-ctx.Done():
	}
	return false, ctx.Err()
}

func (f *fakeServer) Nearest(_ context.Context, o memory.Owner, _ string, _ memory.Search) (memory.Excerpt, error) {
	if !f.ready {
		return memory.Excerpt{}, memory.Errorf(memory.NotFound, "not yet")
	}
	if f.err != nil {
		return memory.Excerpt{}, f.err
	}
	if f.behind > 0 {
		return memory.Excerpt{}, memory.Errorf(memory.Conflict, "behind")
	}
	fact := memtest.Fact(o, "the boat is blue")
	whole := memory.Whole{Kinds: map[memory.Kind]memory.Amount{memory.KindFact: {Memories: 1, Length: 6}}, Terms: map[string]int{"boat": 1}}
	return memory.Excerpt{Items: []memory.Item{{ID: fact.ID, Memory: memory.Memory{Fact: &fact}}}, Whole: whole, Bare: f.bare}, nil
}

func TestHugeChoosesWhoSearches(t *testing.T) {
	resident := &fakeResident{dropped: make(chan memory.Owner, 9), has: map[memory.Owner]int{memtest.Ana: 1025, memtest.Ben: 1024}}
	server := &fakeServer{built: make(chan struct{}, 9), finish: make(chan struct{})}
	lacking := make(chan int, 9)
	h := retrieve.NewHuge(resident, server, retrieve.HugeOptions{Model: "m", Most: 1 << 20, Log: slog.New(slog.DiscardHandler), Lacking: func(_ memory.Owner, n int) { lacking <- n }})
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
	asked("before it is known how much there is", memtest.Ana)
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
	*retrieve.DatabaseSearch
	resident *fakeResident
	server   *fakeServer
}

func inHugeScene(t *testing.T, server *fakeServer, do func(*hugeScene)) {
	synctest.Test(t, func(t *testing.T) {
		server.ready, server.huge = true, []memory.Owner{memtest.Ana}
		s := &hugeScene{T: t, resident: &fakeResident{dropped: make(chan memory.Owner, 9)}, server: server}
		s.DatabaseSearch = retrieve.NewHuge(s.resident, s.server, retrieve.HugeOptions{Model: "m", Most: 1 << 20, Log: slog.New(slog.DiscardHandler)})
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

// TestHugeWaitsForNoList lets the database take long to say whom it is ready for.
func TestHugeWaitsForNoList(t *testing.T) {
	inHugeScene(t, &fakeServer{lists: 5 * time.Second}, func(s *hugeScene) {
		for range 5 {
			if !s.by() {
				s.Error("before it was known whom the database is ready for it was asked")
			}
		}
		time.Sleep(s.server.lists)
		synctest.Wait()
		if s.by() || s.server.asked != 1 {
			s.Errorf("whom it is ready for was asked %d times, and it does not search; want once", s.server.asked)
		}
	})
}

// TestHugeWithoutAListGoesByTheIndex lets the database fail to say whom it is ready for.
func TestHugeWithoutAListGoesByTheIndex(t *testing.T) {
	inHugeScene(t, &fakeServer{fails: errors.New("no")}, func(s *hugeScene) {
		s.resident.has = map[memory.Owner]int{memtest.Ana: 1024}
		for range 2 {
			if !s.by() {
				s.Error("who has 1024 memories was searched by the database, want the index up to that")
			}
		}
		s.resident.has[memtest.Ana]++
		if first, second := s.by(), s.by(); !first || second || s.server.asked != 1 {
			s.Errorf("by the index: %v, then %v; want it to tell that there is too much, and the database to search then", first, second)
		}
	})
}

func TestHugeFallsBackToTheIndex(t *testing.T) {
	inHugeScene(t, &fakeServer{}, func(s *hugeScene) {
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
	inHugeScene(t, &fakeServer{}, func(s *hugeScene) {
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
