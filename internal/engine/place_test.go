package engine

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// besideIndex is an index that says when it searches, with what it is to begin beside.
type besideIndex struct {
	memory.Searcher
	begin     func()
	searching func(begin func())
}

func (s *besideIndex) Beside(ctx context.Context, begin func()) context.Context {
	s.begin = begin
	return ctx
}

func (s *besideIndex) Search(ctx context.Context, q memory.Search) ([]memory.Candidate, error) {
	s.searching(s.begin)
	return s.Searcher.Search(ctx, q)
}

// placingStore counts who asks which conversation a request continues.
type placingStore struct {
	memory.Store
	asked atomic.Int32
}

func (s *placingStore) Turns(ctx context.Context, owner memory.Owner, q memory.TurnQuery) ([]memory.Turn, error) {
	if len(q.Chains) > 0 {
		s.asked.Add(1)
	}
	return s.Store.Turns(ctx, owner, q)
}

// TestASearchBeginsToPlaceTheRequest, and where it does not, who waits does.
func TestASearchBeginsToPlaceTheRequest(t *testing.T) {
	for name, begins := range map[string]bool{"the search begins": true, "the search does not": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, stores["inmem"])
			store := &placingStore{Store: r.Store}
			before := int32(-1)
			r.Store, r.Searcher = store, &besideIndex{Searcher: r.Searcher, searching: func(begin func()) {
				before = store.asked.Load()
				if begins {
					begin()
				}
			}}
			x := r.Exchange.Open(t.Context(), exchange.Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"Where did I put the lantern?"}]`)})
			x.Prepare(t.Context())
			if before != 0 || store.asked.Load() != 1 || !x.Placed {
				t.Errorf("asked %d times before the search and %d in all, placed %v; want 0, 1, true", before, store.asked.Load(), x.Placed)
			}
		})
	}
}

// TestWhatNoSearchBeginsIsPlacedAtOnce: where none comes, or late.
func TestWhatNoSearchBeginsIsPlacedAtOnce(t *testing.T) {
	for name, change := range map[string]func(*rig, *wire.Extras){
		"nothing is retrieved":       func(_ *rig, e *wire.Extras) { e.TopK = new(int) },
		"an embedder that may think": func(r *rig, _ *wire.Extras) { r.Embedder = struct{ memory.Embedder }{r.Embedder} },
		"a searcher that cannot":     func(r *rig, _ *wire.Extras) { r.Searcher = struct{ memory.Searcher }{r.Searcher} },
		"few facts are all told":     func(r *rig, _ *wire.Extras) { r.Opts.Recall.SmallSet = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, stores["inmem"])
			in := exchange.Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"Where did I put the lantern?"}]`)}
			change(r, &in.Extras)
			store := &placingStore{Store: r.Store}
			r.Store = store
			r.Exchange.Open(t.Context(), in)
			r.Background.Wait()
			if asked := store.asked.Load(); asked != 1 {
				t.Errorf("asked %d times, want 1", asked)
			}
		})
	}
}
