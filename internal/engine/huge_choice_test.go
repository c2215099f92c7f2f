package engine

import (
	"context"
	"log/slog"
	"slices"
	"testing"

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
}

func (f *fakeServer) Exceeds(_ context.Context, o memory.Owner, _ int) (bool, error) {
	return o == memtest.Ana, nil
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
