package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// talkStore counts the memories that are read.
type talkStore struct {
	memory.Store
	read atomic.Int32
}

func (s *talkStore) Get(ctx context.Context, owner memory.Owner, ids ...string) ([]memory.Memory, error) {
	s.read.Add(int32(len(ids))) //nolint:gosec // few
	return s.Store.Get(ctx, owner, ids...)
}

// TestMemoriesOfWhoIsLoadedAreReadAhead, a few at a time, until that is to end.
func TestMemoriesOfWhoIsLoadedAreReadAhead(t *testing.T) {
	r := newRig(t, stores["inmem"])
	store := &talkStore{Store: r.Store}
	r.Store = store
	ids := make([]string, 3*core.ReadAtOnce)
	for i := range ids {
		ids[i] = fmt.Sprint("m", i)
	}
	r.OnOwnerLoaded(t.Context(), ana, ids)
	if n := int(store.read.Load()); n != len(ids) {
		t.Errorf("%d memories were read, want %d", n, len(ids))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.OnOwnerLoaded(ctx, ana, ids)
	if n := int(store.read.Load()); n > len(ids)+core.ReadAtOnce {
		t.Errorf("%d memories were read after the end", n-len(ids))
	}
	r.Loading.Lock() // another owner's are read
	r.OnOwnerLoaded(t.Context(), ana, ids)
	r.Loading.Unlock()
}

// BenchmarkPlace lays the next request of a chat on what is stored of it.
func BenchmarkPlace(b *testing.B) {
	for _, turns := range []int{4, 40, 400} {
		r := newRig(b, stores["sqlite"])
		say, messages := speaker(4), ""
		add := func(role string) {
			messages += fmt.Sprintf(`{"role":%q,"content":%q},`, role, say(20))
		}
		chat := func(more string) *chatapi.Chat {
			c, err := chatapi.Decode([]byte(`{"messages":[` + messages + more + `]}`))
			if err != nil {
				b.Fatal(err)
			}
			return c
		}
		for range turns/2 - 1 {
			add("user")
			add("assistant")
		}
		add("user")
		x := r.Exchange.Open(b.Context(), exchange.Incoming{Owner: ana, Chat: chat(`{"role":"user","content":"And then?"}`)})
		x.Prepare(b.Context())
		x.RecordQuestion(b.Context())
		x.RecordAnswer(b.Context(), answered("Then it was over."))
		r.Background.Wait()
		next := exchange.Incoming{Owner: ana, Chat: chat(`{"role":"user","content":"And then?"},{"role":"assistant","content":"Then it was over."},{"role":"user","content":"Who says so?"}`)}
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x := r.Exchange.Open(b.Context(), next)
				if p := x.Placed(); !p.Known() || len(p.At.New) != 1 {
					b.Fatalf("placed: %d new messages, %v", len(p.At.New), p.Err)
				}
			}
		})
	}
}
