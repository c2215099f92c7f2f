package chroma_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/index/chroma"
	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// earlierRig is a store with vectors by two embedders, both of which are on the server, and the
// index of the second.
type earlierRig struct {
	*fake
	store    *inmem.Store
	now      *chroma.Index
	earlier  string // the name of the first one's collection
	ana, ben memory.Turn
}

const earlierModel = "vectors of before"

func openFor(t *testing.T, f *fake, store chroma.Source, model string) *chroma.Index {
	t.Helper()
	x := chroma.New(store, chroma.Options{URL: f.URL, Collection: "loci", Model: model, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func newEarlierRig(t *testing.T) *earlierRig {
	t.Helper()
	r := &earlierRig{fake: startFake(t), store: inmem.Open(inmem.Options{})}
	for owner, turn := range map[memory.Owner]*memory.Turn{memtest.Ana: &r.ana, memtest.Ben: &r.ben} {
		b := memtest.Batch(owner, "c", 0, "one", "two")
		for _, said := range b.Turns {
			for _, m := range []string{earlierModel, model} {
				b.Vectors = append(b.Vectors, memory.Vector{Memory: said.ID, Model: m, Values: []float32{1, 0, 0.5}})
			}
		}
		noError(t)(r.store.Append(t.Context(), owner, b))
		*turn = b.Turns[0]
	}
	before := openFor(t, r.fake, r.store, earlierModel)
	r.earlier = before.Name()
	r.until(t, "both are copied", func() bool { return len(r.ids(r.earlier)) == 4 && len(r.ids(r.earlier+"-marks")) == 2 })
	noError(t)(before.Close())
	call(t, http.MethodPost, r.URL+collectionIDs, fmt.Sprintf(`{"name":"others","metadata":{"loci":1,"embedder":%q}}`, earlierModel), nil)
	call(t, http.MethodPost, r.URL+collectionIDs, `{"name":"loci-0123456789ab","metadata":{}}`, nil)
	r.now = openFor(t, r.fake, r.store, model)
	r.until(t, "both are copied by the other embedder", func() bool { return len(r.ids(r.now.Name())) == 4 })
	return r
}

func (r *earlierRig) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s: %q has %q, %q has %q", what, r.earlier, r.ids(r.earlier), r.now.Name(), r.ids(r.now.Name()))
		}
	}
}

func (r *earlierRig) erase(t *testing.T, id string) {
	t.Helper()
	noError(t)(r.store.Erase(t.Context(), memtest.Ana, memtest.Run("erase "+id), id))
	noError(t)(r.now.Drop(memtest.Ana))
}

// erased reports whether nothing of Ana is left by the earlier embedder, and all of Ben.
func (r *earlierRig) erased() bool {
	records, marks := r.ids(r.earlier), r.ids(r.earlier+"-marks")
	return len(of(records, string(memtest.Ana))) == 0 && len(of(records, string(memtest.Ben))) == 2 && slices.Equal(marks, []string{string(memtest.Ben)})
}

func TestErasedVectorsLeaveEarlierCollections(t *testing.T) {
	r := newEarlierRig(t)
	r.erase(t, r.ana.ID)
	if !r.erased() || r.now.MayHold() != nil {
		t.Errorf("there are %q, and %q may be left", r.ids(r.earlier), r.now.MayHold())
	}
	r.until(t, "the rest is copied", func() bool { return len(of(r.ids(r.now.Name()), string(memtest.Ana))) == 1 })
	again := openFor(t, r.fake, r.store, earlierModel)
	r.until(t, "who goes back has the rest", func() bool { return len(of(r.ids(again.Name()), string(memtest.Ana))) == 1 })
}

func TestErasureWaitsForTheServer(t *testing.T) {
	r := newEarlierRig(t)
	r.setAway(true)
	r.erase(t, r.ana.ID)
	if held := r.now.MayHold(); len(held) != 1 {
		t.Errorf("while it is away %q is named, want the vectors there", held)
	}
	r.setAway(false)
	r.until(t, "they are removed", func() bool { return r.erased() && r.now.MayHold() == nil })
}

func TestErasureWaitsForTheServerAcrossAStart(t *testing.T) {
	r := newEarlierRig(t)
	r.setAway(true)
	r.erase(t, r.ana.ID)
	noError(t)(r.now.Close())
	r.setAway(false)
	if r.erased() {
		t.Fatal("they are gone already: there is nothing to see here")
	}
	r.now = openFor(t, r.fake, r.store, model)
	r.until(t, "they are removed", r.erased)
}

// TestCopyThatBrokeOffIsErased has a mark that says when the copy began, and no more.
func TestCopyThatBrokeOffIsErased(t *testing.T) {
	r := newEarlierRig(t)
	noError(t)(r.now.Close())
	marks := fmt.Sprintf("%s%s/%s/upsert", r.URL, collectionIDs, collectionID(t, r.URL, r.earlier+"-marks"))
	call(t, http.MethodPost, marks, fmt.Sprintf(`{"ids":[%q],"embeddings":[[1]],"metadatas":[{"collection":%q,"version":1}]}`, memtest.Ana, collectionID(t, r.URL, r.earlier)), nil)
	noError(t)(r.store.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), r.ana.ID))
	r.now = openFor(t, r.fake, r.store, model)
	r.until(t, "what was copied is removed", r.erased)
}

// TestErasedElsewhereIsCopiedAnew erases without telling the index, as another server does.
func TestErasedElsewhereIsCopiedAnew(t *testing.T) {
	r := newEarlierRig(t)
	noError(t)(r.store.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), r.ana.ID))
	r.now.Warm(memtest.Ana)
	r.until(t, "the rest alone is there", func() bool { return len(of(r.ids(r.now.Name()), string(memtest.Ana))) == 1 })
	if c, err := r.now.Compare(t.Context()); err != nil || c != (chroma.Comparison{Memories: 3}) {
		t.Errorf("compared: got %+v, %v; want 3 memories and no difference", c, err)
	}
}

func TestEarlierCollectionsAreDropped(t *testing.T) {
	r := newEarlierRig(t)
	noError(t)(r.now.DropEarlier(t.Context()))
	want := []string{"loci-0123456789ab", r.now.Name(), r.now.Name() + "-marks", "others"}
	if got := r.names(); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	r.setAway(true)
	if err := r.now.DropEarlier(t.Context()); err == nil {
		t.Error("without a server: got no error")
	}
}
