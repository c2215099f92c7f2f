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

var bench = sync.OnceValue(func() Block {
	b := newBlock(coldRows, benchDims)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range b.Values {
		b.Values[i] = uint8(r.Uint32())
	}
	for i := range b.Scales {
		b.Scales[i] = r.Float32()
	}
	return b
})

// BenchmarkScan scans rows that are in the cache, and more rows than fit one: then
// it also tells the share of the speed at which bytes can be read at all, by one
// thread with the widest loads. Reading and scanning take turns, so that both meet
// the same machine, and the medians are compared.
func BenchmarkScan(b *testing.B) {
	all := bench()
	q := NewQuery(random(rand.New(rand.NewPCG(2, 2)), benchDims))
	out := make([]float32, benchBlock)
	scanSegment := func(i int) {
		for from := i * benchSegment; from < (i+1)*benchSegment; from += benchBlock {
			Scan(q, all.Rows(from, from+benchBlock, benchDims), out)
		}
	}
	for _, name := range Tiers() {
		b.Run("hot/"+name, func(b *testing.B) {
			use(b, name)
			b.ReportAllocs()
			for b.Loop() {
				scanSegment(0)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/hotRows, "ns/vector")
		})
	}
	for _, name := range Tiers() {
		b.Run("cold/"+name, func(b *testing.B) {
			if testing.Short() {
				b.Skip("it takes 510 MiB")
			}
			use(b, name)
			var reading, scanning []time.Duration
			for pass := 0; b.Loop(); pass++ {
				for i := range coldRows / benchSegment {
					start := time.Now()
					if i%2 == pass%2 {
						read(all.Rows(i*benchSegment, (i+1)*benchSegment, benchDims).Values)
						reading = append(reading, time.Since(start))
					} else {
						scanSegment(i)
						scanning = append(scanning, time.Since(start))
					}
				}
			}
			slices.Sort(reading)
			slices.Sort(scanning)
			took := float64(scanning[len(scanning)/2])
			b.ReportMetric(took/benchSegment, "ns/vector")
			b.ReportMetric(benchSegment*benchDims/took, "GB/s")
			if fastest() > portable {
				b.ReportMetric(float64(reading[len(reading)/2])/took, "share")
			}
		})
	}
}

func BenchmarkDot(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	x, y, dst, bytes := random(r, benchDims), random(r, benchDims), make([]uint16, benchDims), make([]int8, benchDims)
	h, g := randomHalves(r, benchDims), randomHalves(r, benchDims)
	for _, op := range []struct {
		name string
		do   func()
	}{
		{"Dot", func() { Dot(x, y) }},
		{"DotHalf", func() { DotHalf(x, h) }},
		{"DotHalves", func() { DotHalves(g, h) }},
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

// BenchmarkDotEach takes 300 rows from among as many as do not fit the second cache, of
// which a quarter of the values is not zero, beside one at a time.
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

// BenchmarkAbove filters blocks in which one score in a hundred is high enough.
func BenchmarkAbove(b *testing.B) {
	r := rand.New(rand.NewPCG(4, 4))
	scores := make([]float32, benchBlock)
	for i := range scores {
		scores[i] = r.Float32()
	}
	for _, name := range Tiers() {
		b.Run(name, func(b *testing.B) {
			use(b, name)
			var found []int32
			for b.Loop() {
				found = Above(scores, 0.99, found)
			}
		})
	}
}
