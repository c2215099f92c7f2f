package index

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci/memory"
)

func TestIndexAgreesWithTheReferenceOnRandomHistories(t *testing.T) {
	for seed := range uint64(20) {
		p, src := newPlayer(seed), newSource()
		ix := New(src, Options{Budget: pick(p, int64(1), 1<<20)}) // a budget of one byte evicts all the time
		for range 60 {
			p.step(src)
			if p.IntN(10) == 0 {
				owner := pick(p, p.owners...)
				if h := src.owners[owner]; h != nil {
					src.erased[owner] = h.version
				}
			}
			agree(t, src.reference(), ix, p.search())
		}
		var items []memory.IndexItem
		for _, h := range src.reference() {
			items = append(items, h...)
		}
		agree(t, src.reference(), Build(items), p.search())
		noError(t)(ix.Close())
	}
}

func TestCompactionChangesNothing(t *testing.T) {
	p, src := newPlayer(7), newSource()
	for range 300 {
		p.step(src)
	}
	r := src.reference()
	for owner, h := range src.owners {
		sh := newShard()
		for _, step := range h.steps {
			sh.apply(step)
		}
		dead := sh.deletedCount
		sh.compact()
		if sh.deletedCount != 0 || len(sh.docs) != len(h.present) {
			t.Errorf("%s: %d documents after compaction (%d dead before), want %d", owner, len(sh.docs), dead, len(h.present))
		}
		for range 20 {
			s := p.search()
			s.Scopes = []memory.Scope{{Owner: owner}}
			agree(t, r, &Snapshot{owners: []memory.Owner{owner}, shards: []*shard{sh}}, s)
		}
	}
}

func TestConcurrentSearchesSeeWhatWasCommitted(t *testing.T) {
	for _, budget := range []int64{1 << 14, 1 << 20} {
		ix := openAt(newSource(), t.TempDir(), budget) // checkpoints are written all the time
		searchAndWrite(t, ix)
		noError(t)(ix.Close())
	}
}

// searchAndWrite has four users write and find at once what they wrote.
func searchAndWrite(t *testing.T, ix *Index) {
	src := ix.src.(*source)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			owner := memory.User("default", fmt.Sprint(w%2))
			for i := range 100 {
				id := fmt.Sprintf("w%d-%03d", w, i)
				word := fmt.Sprintf("word%dx%d", w, i)
				src.put(owner, memory.IndexItem{Memory: memory.Memory{Turn: &memory.Turn{
					ID: id, Owner: owner, Conversation: "c", Index: i, Role: memory.RoleUser, Content: "said " + word, CreatedAt: day,
				}}})
				scopes := []memory.Scope{{Owner: owner}, {Owner: memory.User("default", fmt.Sprint(1-w%2))}}
				got, err := ix.Search(context.Background(), memory.Search{Scopes: scopes, Text: word, Limit: 3})
				if err != nil || len(got) == 0 || got[0].ID != id {
					t.Errorf("search %s: %v, %v; want %s first", word, got, err, id)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestClosingWhileOwnersAreLoaded(t *testing.T) {
	src := newSource()
	p := newPlayer(2)
	for i := range 80 {
		owner := memory.User("default", fmt.Sprint("u", i))
		src.put(owner, p.item(owner))
	}
	for range 50 {
		ix := New(src, Options{})
		var searches sync.WaitGroup
		for i := range 4 {
			searches.Go(func() {
				for j := range 20 {
					owner := memory.User("default", fmt.Sprint("u", 20*i+j))
					_, err := ix.Search(context.Background(), memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: "Lisbon"})
					if err != nil && !errors.Is(err, memory.Unavailable) && !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				}
			})
		}
		noError(t)(ix.Close()) // what the race detector has to say counts here
		searches.Wait()
	}
}

func TestWarmBringsWhoIsResidentUpToDate(t *testing.T) {
	src := newSource()
	p := newPlayer(1)
	owner := p.owners[0]
	src.put(owner, p.item(owner))
	ix := New(src, Options{})
	defer ix.Close()
	ix.Warm(owner)
	ix.background.Wait()
	if src.pulls != 0 {
		t.Errorf("%d pulls for an owner whom nobody searched, want none", src.pulls)
	}
	s := memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: "Lisbon"}
	noError(t)(ix.Search(context.Background(), s))
	for range 3 {
		src.put(owner, p.item(owner))
		ix.Warm(owner)
		ix.background.Wait()
	}
	pulls := src.pulls
	agree(t, src.reference(), ix, s)
	if src.pulls != pulls || pulls != 4 {
		t.Errorf("%d pulls to load and to warm, %d with the search that followed; want 4 and no more", pulls, src.pulls)
	}
	src.failing = memory.Errorf(memory.Unavailable, "down")
	src.put(owner, p.item(owner))
	ix.Warm(owner)
	ix.background.Wait()
	src.failing = nil
	agree(t, src.reference(), ix, s)
}

func TestSearchFailsWithTheStoreAndRecovers(t *testing.T) {
	src, p := newSource(), newPlayer(1)
	src.put(p.owners[0], p.item(p.owners[0]))
	ix := New(src, Options{})
	s := memory.Search{Scopes: []memory.Scope{{Owner: p.owners[0]}}, Text: "Lisbon"}
	src.failing = memory.Errorf(memory.Unavailable, "disk is gone")
	if _, err := ix.Search(context.Background(), s); err == nil {
		t.Error("a search succeeds while the store fails")
	}
	src.failing = nil
	agree(t, src.reference(), ix, s)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ix.Search(ctx, s); err == nil {
		t.Error("a search with a cancelled context succeeds")
	}
	noError(t)(ix.Close())
	src.put(p.owners[0], p.item(p.owners[0]))
	if _, err := ix.Search(context.Background(), s); err == nil {
		t.Error("a closed index pulls")
	}
}

func TestSearchOfThePastIsRefused(t *testing.T) {
	ix := New(newSource(), Options{})
	defer ix.Close()
	_, err := ix.Search(context.Background(), memory.Search{Scopes: []memory.Scope{{Owner: memory.Global("default")}}, At: memory.At{AsOf: day}})
	if got := fmt.Sprint(err); err == nil || !strings.Contains(got, "present") {
		t.Errorf("error %q, want one that says it knows only the present", got)
	}
}

func TestWithoutScopesThereIsNoResult(t *testing.T) {
	src, p := newSource(), newPlayer(1)
	src.put(p.owners[0], p.item(p.owners[0]))
	ix := New(src, Options{})
	defer ix.Close()
	if got, err := ix.Search(context.Background(), memory.Search{Text: "Lisbon"}); len(got) != 0 || err != nil {
		t.Errorf("found %v, %v", got, err)
	}
}
