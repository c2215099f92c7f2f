package index

import (
	"cmp"
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

// big fills an owner with n short turns of a vocabulary like that of talk: few
// words often, many rarely.
func big(n, dims int) (*source, memory.Owner) { return bigSparse(n, dims, 1) }

// bigSparse is big with vectors of which one value in so many is not zero.
func bigSparse(n, dims, of int) (*source, memory.Owner) {
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
			v = unitVector(r, dims, of)
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
	for _, bc := range []struct{ n, dims, of int }{
		{1000, 384, 1}, {10_000, 0, 1}, {10_000, 384, 1}, {10_000, 384, 6}, {100_000, 0, 1}, {100_000, 384, 1}, {100_000, 384, 6},
	} {
		b.Run(fmt.Sprintf("%d/%d in %d", bc.n, bc.dims, bc.of), func(b *testing.B) {
			src, owner := bigSparse(bc.n, bc.dims, bc.of)
			ix := New(src, Options{Dir: b.TempDir()})
			defer ix.Close()
			s := memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Now: day}
			shards, err := ix.current(context.Background(), []memory.Owner{owner})
			if err != nil {
				b.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			zipf := rand.NewZipf(r, 1.2, 8, 20000)
			if bc.dims > 0 {
				s.Vector = unitVector(r, bc.dims, bc.of)
				b.Run("naive scan", func(b *testing.B) { naive(b, src.owners[owner].steps, s.Vector) })
			}
			run := func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.Text = fmt.Sprintf("w%dq w%dq w%dq w%dq w%dq", zipf.Uint64(), zipf.Uint64(), zipf.Uint64(), zipf.Uint64(), zipf.Uint64())
					if _, err := ix.Search(context.Background(), s); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.Run("index", run)
			if bc.n < minCheckpoint {
				return
			}
			b.Run("index while a checkpoint is written", func(b *testing.B) {
				ctx, stop := context.WithCancel(context.Background())
				var wg sync.WaitGroup
				wg.Go(func() {
					for ctx.Err() == nil {
						_ = ix.save(ctx, ix.entries[owner], shards[0]) // the last is cut off
					}
				})
				run(b)
				stop()
				wg.Wait()
			})
		})
	}
}

func unitVector(r *rand.Rand, dims, of int) []float32 {
	v := make([]float32, dims)
	for i := range v {
		if of == 1 || r.IntN(of) == 0 {
			v[i] = float32(r.NormFloat64())
		}
	}
	vector.Normalize(v)
	return v
}

// naive is what the index is measured beside: the products with all vectors, as
// plain loops, sorted.
func naive(b *testing.B, items []memory.Item, question []float32) {
	type hit struct {
		item  int
		score float32
	}
	hits := make([]hit, len(items))
	for b.Loop() {
		for i := range items {
			var sum float32
			for j, x := range items[i].Vector {
				sum += x * question[j]
			}
			hits[i] = hit{i, sum}
		}
		slices.SortFunc(hits, func(x, y hit) int { return cmp.Compare(y.score, x.score) })
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
