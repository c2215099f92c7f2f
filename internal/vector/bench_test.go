package vector

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	benchDims    = 384
	benchBlock   = 512                // rows of a scan, as package index does it
	benchSegment = 8 * benchBlock     // rows timed at once: 1.5 MiB
	hotRows      = benchSegment       // they fit the second cache
	coldRows     = 340 * benchSegment // 510 MiB: several times the last cache
)

// bench are segments of blocks.
var bench = sync.OnceValue(func() [][]Block {
	all := make([][]Block, coldRows/benchSegment)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range all {
		for range benchSegment / benchBlock {
			b := newBlock(benchBlock, benchDims)
			for i := range b.Values {
				b.Values[i] = uint8(r.Uint32())
			}
			for i := range b.Scales {
				b.Scales[i] = r.Float32()
			}
			all[i] = append(all[i], b)
		}
	}
	return all
})

// benchQueries are dense queries, as of a model, and sparse ones, as of the built-in embedder: 26
// of 96 quads have a value.
func benchQueries() map[string]Query {
	r := rand.New(rand.NewPCG(2, 2))
	dense, sparse := random(r, benchDims), make([]float32, benchDims)
	for _, quad := range r.Perm(benchDims / quadValues)[:26] {
		sparse[quad*quadValues+r.IntN(quadValues)] = 1
	}
	return map[string]Query{"dense": NewQuery(dense), "sparse": NewQuery(sparse)}
}

// BenchmarkScan scans rows in the cache, and more rows than fit: then it also reports the share of
// the greatest read speed of one thread with the widest loads. Reads and scans alternate, and the
// medians are compared. A sparse question's share may exceed 1, since it skips most bytes.
func BenchmarkScan(b *testing.B) {
	all, queries := bench(), benchQueries()
	for _, heat := range []string{"hot", "cold"} {
		for _, kind := range []string{"dense", "sparse"} {
			for _, name := range Tiers() {
				b.Run(heat+"/"+kind+"/"+name, func(b *testing.B) {
					use(b, name)
					if heat == "hot" {
						scanHot(b, queries[kind], all[0])
					} else {
						scanCold(b, queries[kind], all)
					}
				})
			}
		}
	}
}

func scanHot(b *testing.B, q Query, blocks []Block) {
	out := make([]float32, benchBlock)
	b.ReportAllocs()
	for b.Loop() {
		for _, block := range blocks {
			Scan(q, block, out)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/hotRows, "ns/vector")
}

func scanCold(b *testing.B, q Query, all [][]Block) {
	if testing.Short() {
		b.Skip("it takes 510 MiB")
	}
	out := make([]float32, benchBlock)
	var took [2][]time.Duration // reading, scanning
	for pass := 0; b.Loop(); pass++ {
		for i, blocks := range all {
			start, what := time.Now(), (i+pass)%2
			for _, block := range blocks {
				if what == 0 {
					read(block.Values)
				} else {
					Scan(q, block, out)
				}
			}
			took[what] = append(took[what], time.Since(start))
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	reading, scanning := float64(took[0][len(took[0])/2]), float64(took[1][len(took[1])/2])
	b.ReportMetric(scanning/benchSegment, "ns/vector")
	if fastest() > portable {
		b.ReportMetric(reading/scanning, "share")
	}
}

func BenchmarkDot(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	x, y, dst, bytes := random(r, benchDims), random(r, benchDims), make([]uint16, benchDims), make([]int8, benchDims)
	h := randomHalves(r, benchDims)
	for _, op := range []struct {
		name string
		do   func()
	}{
		{"Dot", func() { Dot(x, y) }},
		{"DotHalf", func() { DotHalf(x, h) }},
		{"EncodeHalves", func() { EncodeHalves(dst, x) }},
		{"Quantize", func() { Quantize(x, bytes) }},
	} {
		for _, name := range Tiers() {
			b.Run(op.name+"/"+name, func(b *testing.B) {
				use(b, name)
				for b.Loop() {
					op.do()
				}
			})
		}
	}
}

// BenchmarkDotEach takes 300 rows, a quarter nonzero, from more memory than the second-level cache,
// all at once and one at a time.
func BenchmarkDotEach(b *testing.B) {
	const all, taken = 40_000, 300
	r := rand.New(rand.NewPCG(5, 5))
	a, packs := random(r, benchDims), make([][]uint16, all)
	for i := range packs {
		row := randomHalves(r, benchDims)
		for j := range row {
			if r.IntN(4) > 0 {
				row[j] = 0
			}
		}
		packs[i] = Pack(nil, row)
	}
	rows, out := make([][]uint16, taken), make([]float32, taken)
	each := func(b *testing.B, do func()) {
		for b.Loop() {
			for i := range rows {
				rows[i] = packs[r.IntN(all)]
			}
			do()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/taken, "ns/vector")
	}
	b.Run("choosing", func(b *testing.B) { each(b, func() {}) }) // what the others do besides
	b.Run("DotEach", func(b *testing.B) { each(b, func() { DotEach(a, rows, out) }) })
	b.Run("DotPacked", func(b *testing.B) {
		each(b, func() {
			for i, row := range rows {
				out[i] = DotPacked(a, row)
			}
		})
	})
}
