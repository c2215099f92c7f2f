package index

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	var items []memory.IndexItem
	for i := range n {
		var b strings.Builder
		for range 12 {
			fmt.Fprintf(&b, "w%dq ", zipf.Uint64())
		}
		var v []float32
		if dims > 0 {
			v = unitVector(r, dims, of)
		}
		items = append(items, memory.IndexItem{Vector: v, Memory: memory.Memory{Turn: &memory.Turn{
			ID: fmt.Sprintf("%08d-0000-7000-8000-000000000000", i), Owner: owner, Conversation: fmt.Sprint(i / 30), Index: i % 30,
			Role: memory.RoleUser, Content: b.String(), CreatedAt: day.Add(time.Duration(i) * time.Minute),
		}}})
	}
	src.put(owner, items...)
	return src, owner
}

// lexical gives every item the vector of its words that a plain hashing embedder
// would: what has words in common is near.
func lexical(content string, dims int) []float32 {
	v := make([]float32, dims)
	for w := range strings.FieldsSeq(content) {
		h := fnv.New64a()
		h.Write([]byte(w))
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		for range 6 {
			v[r.IntN(dims)] += float32(2*r.IntN(2) - 1)
		}
	}
	vector.Normalize(v)
	return v
}

// BenchmarkSearch has one client and eight at once ask for two to six words, with no
// vectors, with those of words, and with such as a model makes, where every value
// counts.
func BenchmarkSearch(b *testing.B) {
	const dims = 384
	for _, n := range []int{10_000, 100_000} {
		for _, vectors := range []string{"none", "lexical", "dense"} {
			b.Run(fmt.Sprintf("%d/%s", n, vectors), func(b *testing.B) {
				src, owner := big(n, 0)
				r := rand.New(rand.NewPCG(1, 2))
				embed := map[string]func(string) []float32{
					"none":    func(string) []float32 { return nil },
					"lexical": func(s string) []float32 { return lexical(s, dims) },
					"dense":   func(string) []float32 { return unitVector(r, dims, 1) },
				}[vectors]
				steps := src.owners[owner].steps
				for i := range steps {
					steps[i].Vector = embed(steps[i].Memory.Content())
				}
				zipf := rand.NewZipf(r, 1.2, 8, 20000)
				questions := make([]memory.Search, 509)
				for i := range questions {
					var said strings.Builder
					for range 2 + r.IntN(5) {
						fmt.Fprintf(&said, "w%dq ", zipf.Uint64())
					}
					questions[i] = memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Now: day, Text: said.String(), Vector: embed(said.String()), WordsFirst: vectors == "lexical"}
				}
				searchAll(b, src, owner, questions)
			})
		}
	}
}

func searchAll(b *testing.B, src *source, owner memory.Owner, questions []memory.Search) {
	ix := New(src, Options{Dir: b.TempDir()})
	defer ix.Close()
	shards, err := ix.currentShards(context.Background(), []memory.Owner{owner})
	if err != nil {
		b.Fatal(err)
	}
	run := func(clients int) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism((clients + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
			var next atomic.Int64
			ask := func() {
				if _, err := ix.Search(context.Background(), questions[next.Add(1)%int64(len(questions))]); err != nil {
					b.Error(err)
				}
			}
			if clients == 1 {
				for b.Loop() {
					ask()
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					ask()
				}
			})
		}
	}
	if question := questions[0].Vector; question != nil {
		b.Run("naive scan", func(b *testing.B) { naive(b, src.owners[owner].steps, question) })
	}
	b.Run("1 client", run(1))
	b.Run("8 clients", run(8))
	b.Run("1 client while a checkpoint is written", func(b *testing.B) {
		ctx, stop := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() {
			for ctx.Err() == nil {
				_ = ix.saveCheckpoint(ctx, ix.entries[owner], shards[0]) // the last is cut off
			}
		})
		run(1)(b)
		stop()
		wg.Wait()
	})
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
func naive(b *testing.B, items []memory.IndexItem, question []float32) {
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
					ix.checkpointMinimum = 1
					if _, err := ix.currentShards(context.Background(), []memory.Owner{owner}); err != nil {
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
