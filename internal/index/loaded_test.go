package index

import (
	"context"
	"slices"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestLoadedTellsWhatSearchesWillFind: once for each load, the newest first, and nothing of
// who has nothing.
func TestLoadedTellsWhatSearchesWillFind(t *testing.T) {
	ana, ben := memory.User("default", "ana"), memory.User("default", "ben")
	src := newSource()
	told := map[memory.Owner][][]string{}
	ix := New(src, Options{Loaded: func(ctx context.Context, owner memory.Owner, ids []string) {
		told[owner] = append(told[owner], ids)
		if ctx.Err() != nil {
			t.Error("it is to end already")
		}
	}})
	search := func(owner memory.Owner) {
		t.Helper()
		noError(t)(ix.Search(t.Context(), memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: "tea"}))
		ix.work.Wait()
	}
	src.put(ana, nth(ana, 1, false))
	src.put(ana, nth(ana, 2, false))
	src.put(ana, memory.Item{ID: "fact-1", Removed: true})
	search(ana)
	src.put(ana, nth(ana, 3, false))
	search(ana)
	search(ben)
	noError(t)(ix.Drop(ana))
	search(ana)
	noError(t)(ix.Close())
	want := [][]string{{"fact-2"}, {"fact-3", "fact-2"}}
	if len(told) != 1 || !slices.EqualFunc(told[ana], want, slices.Equal[[]string]) {
		t.Errorf("told %v, want %v of %s alone", told, want, ana)
	}
}
