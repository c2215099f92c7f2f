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
		var items []memory.IndexItem
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
		noError(t)(ix.Search(context.Background(), everything(owner)))
		var sum int64
		for _, e := range ix.entries {
			if size := e.shard.size(); size != e.residentBytes {
				t.Fatalf("%s has %d bytes and counts for %d", e.owner, size, e.residentBytes)
			}
			sum += e.residentBytes
		}
		if ix.Size() != sum || sum > budget && len(ix.entries) > 1 {
			t.Fatalf("%d owners of %d bytes in all count for %d, with a budget of %d", len(ix.entries), sum, ix.Size(), budget)
		}
		if e := ix.entries[owner]; e == nil || e.element != ix.byRecentUse.Front() {
			t.Fatalf("%s was just searched and is not the first", owner)
		}
		most = max(most, len(ix.entries))
	}
	if most < 5 || most == len(owners) {
		t.Errorf("%d of %d owners fit in: this shows nothing", most, len(owners))
	}
	agree(t, src.reference(), ix, everything(owners[0]))
}
