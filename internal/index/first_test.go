package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// watched is a source that counts questions for versions, and may hold up what was read.
type watched struct {
	*source
	asked   atomic.Int64
	reading chan struct{} // nil: nothing waits
	goOn    chan struct{}
}

func (s *watched) Versions(ctx context.Context, owners []memory.Owner) ([]int64, error) {
	s.asked.Add(1)
	return s.source.Versions(ctx, owners)
}

func (s *watched) Since(ctx context.Context, owner memory.Owner, model string, after int64, yield func(memory.IndexItem) error) (int64, error) {
	version, err := s.source.Since(ctx, owner, model, after, yield)
	if s.reading != nil && after == 0 {
		s.reading <- struct{}{}
		<-s.goOn
	}
	return version, err
}

func said(id, content string) memory.IndexItem {
	return memory.IndexItem{Memory: memory.Memory{Turn: &memory.Turn{ID: id, Owner: "user:default/ana", Conversation: "c", Content: content, CreatedAt: day}}}
}

func mustFind(t *testing.T, ix *Index, words string) int {
	t.Helper()
	found, err := ix.Search(t.Context(), memory.Search{Scopes: []memory.Scope{{Owner: "user:default/ana"}}, Text: words, Now: day})
	if err != nil {
		t.Error(err)
	}
	return len(found)
}

// TestWhoHasNothingTakesNoRoom asks for an owner whom the store does not know, until it does.
func TestWhoHasNothingTakesNoRoom(t *testing.T) {
	src := newSource()
	ix := New(src, Options{})
	defer ix.Close()
	if found := mustFind(t, ix, "boat"); found != 0 || len(ix.entries) != 0 || ix.byRecentUse.Len() != 0 {
		t.Fatalf("found %d; %d entries are kept, want none", found, len(ix.entries))
	}
	src.put("user:default/ana", said("1", "I sail a boat."))
	if found := mustFind(t, ix, "boat"); found != 1 {
		t.Errorf("found %d, want 1", found)
	}
}

// TestASearchSeesWhatWasWrittenWhileAnotherLoads writes after somebody's load has read.
func TestASearchSeesWhatWasWrittenWhileAnotherLoads(t *testing.T) {
	for name, first := range map[string][]memory.IndexItem{"more": {said("1", "I sail a boat.")}, "the first": nil} {
		t.Run(name, func(t *testing.T) {
			src := &watched{source: newSource(), reading: make(chan struct{}), goOn: make(chan struct{})}
			if first != nil {
				src.put("user:default/ana", first...)
			}
			ix := New(src, Options{})
			defer ix.Close()
			ix.loadIfAbsent("user:default/ana")
			<-src.reading
			src.put("user:default/ana", said("2", "The boat is blue."))
			found := make(chan int)
			go func() { found <- mustFind(t, ix, "boat") }()
			for src.asked.Load() == 0 { // it found the load, and asks
				runtime.Gosched()
			}
			src.goOn <- struct{}{}
			if first == nil { // nothing was there: it reads anew
				<-src.reading
				src.goOn <- struct{}{}
			}
			if got, want := <-found, len(first)+1; got != want {
				t.Errorf("found %d, want %d", got, want)
			}
		})
	}
}

// leanSource yields what it has, vectors packed as a store keeps them.
type leanSource struct {
	*source
	items   []memory.IndexItem
	vectors [][]uint16
}

func (s leanSource) Everything(_ context.Context, _ memory.Owner, _ string, yield func(memory.IndexItem, []uint16) error) (int64, error) {
	for i := range s.items {
		if err := yield(s.items[i], s.vectors[i]); err != nil {
			return 0, err
		}
	}
	return 1, nil
}

// BenchmarkFirst makes the index of an owner who is not resident, of turns as people
// write them, without the time that a store takes.
func BenchmarkFirst(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			src, owner := talkOf(b, n)
			ix := New(src, Options{Budget: 1})
			defer ix.Close()
			b.ReportAllocs()
			for b.Loop() {
				noError(b)(ix.followStore(owner, nil))
			}
		})
	}
}

// talkOf is an owner with n turns of 8 to 24 words, few of them often and many rarely,
// with vectors of words.
func talkOf(b *testing.B, n int) (leanSource, memory.Owner) {
	b.Helper()
	const dims = 384
	r := rand.New(rand.NewPCG(7, 7))
	zipf := rand.NewZipf(r, 1.2, 8, 20000)
	everyday := strings.Fields("I the a and to of we it was in my you for that with is on have went really")
	word := func() string {
		rank := int(zipf.Uint64())
		if rank < len(everyday) {
			return everyday[rank]
		}
		var w strings.Builder
		for rank += 20; rank > 0; rank /= 60 {
			w.WriteByte("bcdfghklmnpr"[rank%12])
			w.WriteByte("aeiou"[rank/12%5])
		}
		return w.String()
	}
	src, owner := leanSource{source: newSource()}, memory.User("default", "talk")
	for i := range n {
		said := []string{"Well"}
		for range 7 + r.IntN(17) {
			said = append(said, word())
		}
		content := strings.Join(said, " ") + "."
		halves := make([]uint16, dims)
		vector.EncodeHalves(halves, lexical(content, dims))
		src.vectors = append(src.vectors, vector.Pack(nil, halves))
		id := fmt.Sprintf("%08d-0000-7000-8000-000000000000", i)
		src.items = append(src.items, memory.IndexItem{ID: id, Version: 1, Memory: memory.Memory{Turn: &memory.Turn{
			ID: id, Owner: owner, Conversation: "talk", Index: i, Role: memory.RoleUser,
			Content: content, CreatedAt: day.Add(time.Duration(i) * time.Minute),
		}}})
	}
	return src, owner
}
