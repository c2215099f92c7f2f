package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// source is a [memory.Source] in which histories are played.
type source struct {
	mu      sync.Mutex
	owners  map[memory.Owner]*history
	pulls   int
	steps   int                    // yielded
	erased  map[memory.Owner]int64 // Since from before this version is Gone
	failing error
}

type history struct {
	version int64
	steps   []memory.Item          // every one, in order
	present map[string]memory.Item // by id
}

func newSource() *source {
	return &source{owners: map[memory.Owner]*history{}, erased: map[memory.Owner]int64{}}
}

func (s *source) put(owner memory.Owner, items ...memory.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.owners[owner]
	if h == nil {
		h = &history{present: map[string]memory.Item{}}
		s.owners[owner] = h
	}
	h.version++
	for _, item := range items {
		item.Version = h.version
		if item.ID == "" {
			item.ID = item.Memory.ID()
		}
		h.steps = append(h.steps, item)
		if item.Removed {
			delete(h.present, item.ID)
			continue
		}
		h.present[item.ID] = item
	}
}

func (s *source) Versions(ctx context.Context, owners []memory.Owner) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]int64, len(owners))
	for i, o := range owners {
		if h := s.owners[o]; h != nil {
			out[i] = h.version
		}
	}
	return out, ctx.Err()
}

func (s *source) Since(ctx context.Context, owner memory.Owner, _ string, after int64, yield func(memory.Item) error) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulls++
	if s.failing != nil {
		return 0, s.failing
	}
	h := s.owners[owner]
	if after > h.version || after > 0 && after < s.erased[owner] {
		return 0, memory.Errorf(memory.Gone, "erased")
	}
	last := map[string]int{}
	for i, step := range h.steps {
		last[step.ID] = i
	}
	for i, step := range h.steps {
		if step.Version <= after || last[step.ID] != i || after == 0 && step.Removed {
			continue
		}
		s.steps++
		if err := yield(step); err != nil {
			return 0, err
		}
	}
	return h.version, ctx.Err()
}

// reference returns what is present, for comparison.
func (s *source) reference() reference {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := reference{}
	for owner, h := range s.owners {
		for _, item := range h.present {
			r[owner] = append(r[owner], item)
		}
	}
	return r
}

// player makes random histories and searches from a small vocabulary, so that
// words, conversations and ids meet often.
type player struct {
	*rand.Rand
	owners []memory.Owner
	next   int
}

func newPlayer(seed uint64) *player {
	return &player{Rand: rand.New(rand.NewPCG(seed, 1)), owners: []memory.Owner{
		memory.User("default", "ana"), memory.User("default", "ben"), memory.Global("default"),
	}}
}

func pick[T any](p *player, of ...T) T { return of[p.IntN(len(of))] }

func (p *player) words(n int) string {
	var out []string
	for range n {
		out = append(out, pick(p, "Lisbon", "moved", "dog", "hiking", "peanuts", "Ana", "the", "May", "2026", "guitar", "coffee", "work", "job", "career", "occupation", "4", "is", "book"))
	}
	return strings.Join(out, " ")
}

func (p *player) vector() []float32 {
	if p.IntN(4) == 0 {
		return nil
	}
	v := make([]float32, 16)
	for i := range v {
		v[i] = float32(p.NormFloat64())
	}
	vector.Normalize(v)
	return v
}

func (p *player) item(owner memory.Owner) memory.Item {
	p.next++
	id := fmt.Sprintf("m%04d", p.next)
	at := day.AddDate(0, 0, -p.IntN(60))
	content := p.words(1+p.IntN(12)) + pick(p, "", "", "?")
	var m memory.Memory
	switch p.IntN(8) {
	case 0, 1:
		f := &memory.Fact{ID: id, Scope: memory.Scope{Owner: owner, Project: pick(p, "", "", "p1", "p2")}, Content: content,
			Category: pick(p, "", "food", "home"), Status: memory.Active, ObservedAt: at, CreatedAt: at, UpdatedAt: at}
		if p.IntN(3) == 0 {
			f.Tags = []string{pick(p, "x", "y")}
		}
		if p.IntN(4) == 0 {
			f.ExpiresAt = day.AddDate(0, 0, p.IntN(3)-1)
		}
		f.Provenance.Conversation = pick(p, "", "c1", "c2")
		m.Fact = f
	case 2:
		m.Summary = &memory.Summary{ID: id, Scope: memory.Scope{Owner: owner, Conversation: pick(p, "c1", "c2")}, Text: content, CreatedAt: at}
	default:
		m.Turn = &memory.Turn{ID: id, Owner: owner, Conversation: pick(p, "c1", "c2", "c3"), Project: pick(p, "", "", "p1"),
			Index: p.IntN(40), Role: pick(p, memory.RoleUser, memory.RoleAssistant), Name: pick(p, "", "", "Ana"), Content: content, CreatedAt: at}
	}
	return memory.Item{Memory: m, Vector: p.vector()}
}

func (p *player) step(src *source) {
	owner := pick(p, p.owners...)
	var present []string
	for _, item := range src.reference()[owner] {
		present = append(present, item.ID)
	}
	slices.Sort(present)
	switch {
	case len(present) > 0 && p.IntN(4) == 0:
		src.put(owner, memory.Item{ID: pick(p, present...), Removed: true})
	case len(present) > 0 && p.IntN(6) == 0: // reworded
		item := p.item(owner)
		id := pick(p, present...)
		switch {
		case item.Memory.Fact != nil:
			item.Memory.Fact.ID = id
		case item.Memory.Turn != nil:
			item.Memory.Turn.ID = id
		default:
			item.Memory.Summary.ID = id
		}
		src.put(owner, item)
	default:
		var items []memory.Item
		for range 1 + p.IntN(4) {
			items = append(items, p.item(owner))
		}
		src.put(owner, items...)
	}
}

func (p *player) search() memory.Search {
	s := memory.Search{Text: p.words(p.IntN(5)), Vector: p.vector(), Limit: 5 + p.IntN(60)}
	for range 1 + p.IntN(2) {
		s.Scopes = append(s.Scopes, memory.Scope{Owner: pick(p, p.owners...), Project: pick(p, "", "", "p1")})
	}
	switch p.IntN(8) {
	case 0:
		s.Kinds = []memory.Kind{memory.KindTurn, memory.KindSummary}
	case 1:
		s.Category = "food"
	case 2:
		s.Tag = "x"
	case 3:
		s.Conversation = "c1"
	case 4:
		s.Exclude = map[string]bool{"m0001": true, "m0005": true}
	case 5:
		s.Now = day
	}
	return s
}

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
		var items []memory.Item
		for _, h := range src.reference() {
			items = append(items, h...)
		}
		agree(t, src.reference(), Build(items), p.search())
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
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
			sh.apply(step, nil)
		}
		dead := sh.dead
		sh.compact()
		if sh.dead != 0 || len(sh.docs) != len(h.present) {
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
	src := newSource()
	ix := New(src, Options{Budget: 1 << 14})
	defer ix.Close()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			owner := memory.User("default", fmt.Sprint(w%2))
			for i := range 150 {
				id := fmt.Sprintf("w%d-%03d", w, i)
				word := fmt.Sprintf("word%dx%d", w, i)
				src.put(owner, memory.Item{Memory: memory.Memory{Turn: &memory.Turn{
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

func TestSearchersShareOnePull(t *testing.T) {
	src := newSource()
	p := newPlayer(1)
	for range 20 {
		src.put(p.owners[0], p.item(p.owners[0]))
	}
	ix := New(src, Options{})
	defer ix.Close()
	src.mu.Lock() // loads wait here until all searches wait for one
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := ix.upTo(context.Background(), p.owners[0], 20); err != nil {
				t.Error(err)
			}
		})
	}
	src.mu.Unlock()
	wg.Wait()
	if src.pulls != 1 {
		t.Errorf("%d pulls for eight searches, want 1", src.pulls)
	}
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
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
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

// big fills an owner with n short turns of a vocabulary like that of talk: few
// words often, many rarely.
func big(n, dims int) (*source, memory.Owner) {
	r := rand.New(rand.NewPCG(42, 42))
	zipf := rand.NewZipf(r, 1.2, 8, 20000)
	src, owner := newSource(), memory.User("default", "big")
	var items []memory.Item
	for i := range n {
		var b strings.Builder
		for range 12 {
			fmt.Fprintf(&b, "w%dq ", zipf.Uint64())
		}
		var v []float32
		if dims > 0 {
			v = make([]float32, dims)
			for j := range v {
				v[j] = float32(r.NormFloat64())
			}
			vector.Normalize(v)
		}
		items = append(items, memory.Item{Vector: v, Memory: memory.Memory{Turn: &memory.Turn{
			ID: fmt.Sprintf("%08d-0000-7000-8000-000000000000", i), Owner: owner, Conversation: fmt.Sprint(i / 30), Index: i % 30,
			Role: memory.RoleUser, Content: b.String(), CreatedAt: day.Add(time.Duration(i) * time.Minute),
		}}})
	}
	src.put(owner, items...)
	return src, owner
}

func BenchmarkSearch(b *testing.B) {
	for _, bc := range []struct{ n, dims int }{{1000, 384}, {10_000, 0}, {10_000, 384}, {100_000, 0}, {100_000, 384}} {
		b.Run(fmt.Sprintf("%d/%d", bc.n, bc.dims), func(b *testing.B) {
			src, owner := big(bc.n, bc.dims)
			ix := New(src, Options{})
			defer ix.Close()
			r := rand.New(rand.NewPCG(1, 2))
			zipf := rand.NewZipf(r, 1.2, 8, 20000)
			s := memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Now: day}
			if bc.dims > 0 {
				s.Vector = make([]float32, bc.dims)
				for i := range s.Vector {
					s.Vector[i] = float32(r.NormFloat64())
				}
				vector.Normalize(s.Vector)
			}
			if _, err := ix.Search(context.Background(), s); err != nil { // loads
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				s.Text = fmt.Sprintf("w%dq w%dq w%dq w%dq w%dq", zipf.Uint64(), zipf.Uint64(), zipf.Uint64(), zipf.Uint64(), zipf.Uint64())
				if _, err := ix.Search(context.Background(), s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLoad has an owner's memories brought into memory, from the store (here
// one that costs nothing) and from a checkpoint.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		for _, from := range []string{"store", "checkpoint"} {
			b.Run(fmt.Sprintf("%d/%s", n, from), func(b *testing.B) {
				src, owner := big(n, 384)
				opts := Options{}
				if from == "checkpoint" {
					opts.Dir = b.TempDir()
				}
				load := func() *Index {
					ix := New(src, opts)
					ix.least = 1
					if _, err := ix.current(context.Background(), []memory.Owner{owner}); err != nil {
						b.Fatal(err)
					}
					return ix
				}
				first := load()
				if err := first.Close(); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					load()
				}
			})
		}
	}
}

// BenchmarkFreeze is how long a checkpoint keeps writers from an owner of 100,000.
func BenchmarkFreeze(b *testing.B) {
	src, owner := big(100_000, 0)
	sh := snapshotOf(src, owner).shards[0]
	for b.Loop() {
		sh.freeze()
	}
}

func BenchmarkFollowOneTurn(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			src, owner := big(n, 0)
			sh := snapshotOf(src, owner).shards[0]
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				sh.apply(memory.Item{Memory: memory.Memory{Turn: &memory.Turn{
					ID: fmt.Sprintf("new%d", i), Owner: owner, Conversation: fmt.Sprint("n", i/30), Index: i % 30, Role: memory.RoleUser,
					Content: "I moved to Lisbon in May with the children and the dog", CreatedAt: day,
				}}}, nil)
			}
		})
	}
}
