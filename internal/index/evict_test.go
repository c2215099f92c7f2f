package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// small returns a source of many owners with some memories each.
func small(owners, memories, dims int) (*source, []memory.Owner) {
	src, p := newSource(), newPlayer(5)
	var list []memory.Owner
	for i := range owners {
		owner := memory.User("default", fmt.Sprint(i))
		var items []memory.Item
		for range memories {
			item := p.item(owner)
			item.Vector = nil
			if dims > 0 {
				item.Vector = make([]float32, dims)
				item.Vector[p.IntN(dims)] = 1
			}
			items = append(items, item)
		}
		src.put(owner, items...)
		list = append(list, owner)
	}
	return src, list
}

// The budget holds for owners that grow while they are resident, and what the index
// says it uses is what its owners use.
func TestEvictionFollowsSizesThatChange(t *testing.T) {
	src, owners := small(60, 20, 0)
	const budget = 200_000
	ix := New(src, Options{Budget: budget})
	defer ix.Close()
	r := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(r, 1.3, 3, uint64(len(owners)-1))
	p := newPlayer(8)
	p.next = 100_000
	most := 0
	for i := range 600 {
		owner := owners[zipf.Uint64()]
		if i%3 == 0 {
			src.put(owner, p.item(owner), p.item(owner))
		}
		if _, err := ix.Search(context.Background(), everything(owner)); err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, e := range ix.entries {
			if size := e.shard.size(); size != e.bytes {
				t.Fatalf("%s has %d bytes and counts for %d", e.owner, size, e.bytes)
			}
			sum += e.bytes
		}
		if ix.Size() != sum || sum > budget && len(ix.entries) > 1 {
			t.Fatalf("%d owners of %d bytes in all count for %d, with a budget of %d", len(ix.entries), sum, ix.Size(), budget)
		}
		if e := ix.entries[owner]; e == nil || e.place != ix.recent.Front() {
			t.Fatalf("%s was just searched and is not the first", owner)
		}
		most = max(most, len(ix.entries))
	}
	if most < 5 || most == len(owners) {
		t.Errorf("%d of %d owners fit in: this shows nothing", most, len(owners))
	}
	agree(t, src.reference(), ix, everything(owners[0]))
}

// BenchmarkManyOwners has owners of a hundred memories searched by Zipf's law, with
// room for a tenth of them. A search of one that is not resident loads it.
func BenchmarkManyOwners(b *testing.B) {
	src, owners := small(500, 100, 384)
	one := New(src, Options{})
	defer one.Close()
	s := memory.Search{Text: "Lisbon dog", Vector: make([]float32, 384)}
	s.Vector[3] = 1
	search := func(ix *Index, owner memory.Owner) {
		s.Scopes = []memory.Scope{{Owner: owner}}
		if _, err := ix.Search(context.Background(), s); err != nil {
			b.Fatal(err)
		}
	}
	search(one, owners[0])
	b.Run("resident", func(b *testing.B) {
		for b.Loop() {
			search(one, owners[0])
		}
	})
	b.Run("not resident", func(b *testing.B) {
		ix := New(src, Options{Budget: 1})
		defer ix.Close()
		for i := 0; b.Loop(); i++ {
			search(ix, owners[i%2])
		}
	})
	b.Run("zipf", func(b *testing.B) {
		ix := New(src, Options{Budget: 50 * one.Size()})
		defer ix.Close()
		zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 1)), 1.1, 1, uint64(len(owners)-1))
		src.pulls = 0
		for b.Loop() {
			search(ix, owners[zipf.Uint64()])
		}
		b.ReportMetric(float64(src.pulls)/float64(b.N), "loads/op")
	})
}
