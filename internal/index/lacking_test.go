package index

import (
	"context"
	"fmt"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// nth is a fact, with a vector like all others' or without one.
func nth(owner memory.Owner, n int, vector bool) memory.IndexItem {
	id := fmt.Sprintf("fact-%d", n)
	item := memory.IndexItem{ID: id, Memory: memory.Memory{Fact: &memory.Fact{
		ID: id, Scope: memory.Scope{Owner: owner}, Content: fmt.Sprintf("tea number %d", n), Status: memory.Active, Confidence: 1,
	}}}
	if vector {
		item.Vector = []float32{1, 0}
	}
	return item
}

// Of an owner whose memories lack vectors, none is compared by vector until hardly any
// lacks one; then all are, and those written later without one change nothing. What
// is said of lacking ones is said once for each that is new. Checkpoints keep to it.
func TestVectorsRestWhileTooManyMemoriesHaveNone(t *testing.T) {
	const many = 2 * vectorlessDivisor
	ctx, owner := context.Background(), memory.User("default", "ana")
	src, dir := newSource(), t.TempDir()
	for i := range many {
		src.put(owner, nth(owner, i, i >= 3))
	}
	var told []int
	open := func() *Index {
		ix := New(src, Options{Model: "m", Dir: dir, OnMissingVectors: func(o memory.Owner, n int) {
			if o != owner {
				t.Errorf("told of %s", o)
			}
			told = append(told, n)
		}})
		ix.checkpointMinimum = 1
		return ix
	}
	ix := open()
	want := func(when string, vectors bool, lacking ...int) {
		t.Helper()
		found := try(ix.Search(ctx, memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: "tea", Vector: []float32{1, 0}, Limit: 1000})).orFail(t)
		ix.background.Wait() // for what is told beside the search
		compared, redundant := 0, 0
		for _, c := range found {
			if c.Measures.Vector > 0 {
				compared++
			}
			if c.Vector != nil {
				redundant++
			}
		}
		if len(found) == 0 || (compared > 0) != vectors || (redundant > 0) != vectors {
			t.Errorf("%s: of %d, %d compared by vector and %d with one to compare; vectors wanted: %v", when, len(found), compared, redundant, vectors)
		}
		if fmt.Sprint(told) != fmt.Sprint(lacking) {
			t.Errorf("%s: told of %v, want %v", when, told, lacking)
		}
		told = nil
	}
	want("three of 200 lack one", false, 3)
	src.put(owner, nth(owner, 0, true))
	want("two of 200", true)
	for i := range 5 {
		src.put(owner, nth(owner, many+i, false))
	}
	want("more were written", true, 7)
	noError(t)(ix.Close())
	ix = open()
	want("from a checkpoint", false, 7)
	for i := range 5 {
		src.put(owner, nth(owner, many+i, true))
	}
	want("and those got one", true)
	src.put(owner, memory.IndexItem{ID: "fact-1", Removed: true})
	src.put(owner, memory.IndexItem{ID: "fact-2", Removed: true})
	want("the last ones left", true)
	ix.mu.Lock()
	if bare := ix.entries[owner].shard.vectorlessCount; bare != 0 {
		t.Errorf("%d are counted that lack one, want none", bare)
	}
	ix.mu.Unlock()
	noError(t)(ix.Close())
}
