package index

import (
	"context"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestASearchBeginsWhatIsBeside: after the store was asked, unless that is far away, and
// before anything is waited for.
func TestASearchBeginsWhatIsBeside(t *testing.T) {
	for name, c := range map[string]struct {
		far   bool
		asked int64 // how often the store was, by then
	}{"near": {false, 1}, "far": {true, 0}} {
		t.Run(name, func(t *testing.T) {
			src := &watched{source: newSource()}
			src.put("user:default/ana", said("1", "I sail a boat."))
			ix := New(src, Options{Far: c.far})
			defer ix.Close()
			mustFind(t, ix, "boat") // loads
			asked := int64(-1)
			ctx := ix.Beside(t.Context(), func() { asked = src.asked.Load() })
			if found, err := ix.Search(ctx, boats()); err != nil || len(found) != 1 || asked != c.asked {
				t.Errorf("found %d, %v; begun when the store had been asked %d times, want %d", len(found), err, asked, c.asked)
			}
		})
	}
}

// TestWhatIsBesideDoesNotWaitForALoad, of an owner who is not resident or whom somebody
// else loads.
func TestWhatIsBesideDoesNotWaitForALoad(t *testing.T) {
	for name, first := range map[string]func(*Index, context.Context) context.Context{
		"its own":   func(_ *Index, ctx context.Context) context.Context { return ctx },
		"ahead":     func(ix *Index, ctx context.Context) context.Context { return ix.Ahead(ctx, "user:default/ana") },
		"another's": func(ix *Index, ctx context.Context) context.Context { ix.Ahead(ctx, "user:default/ana"); return ctx },
	} {
		t.Run(name, func(t *testing.T) {
			src := &watched{source: newSource(), reading: make(chan struct{}), goOn: make(chan struct{})}
			src.put("user:default/ana", said("1", "I sail a boat."))
			ix := New(src, Options{})
			defer ix.Close()
			begun, once := make(chan struct{}), false
			ctx := ix.Beside(first(ix, t.Context()), func() {
				if !once {
					once = true
					close(begun)
				}
			})
			found := make(chan int)
			go func() {
				cands, err := ix.Search(ctx, boats())
				if err != nil {
					t.Error(err)
				}
				found <- len(cands)
			}()
			<-src.reading
			<-begun // the load has not ended
			src.goOn <- struct{}{}
			if got := <-found; got != 1 {
				t.Errorf("found %d, want 1", got)
			}
		})
	}
}

func boats() memory.Search {
	return memory.Search{Scopes: []memory.Scope{{Owner: "user:default/ana"}}, Text: "boat", Now: day}
}
