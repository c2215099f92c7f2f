package index

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// roundings is how many standard deviations of its rounding errors an int8 product
// is taken to be off at most: what lies further off is seen once in a thousand
// million, if the errors of a vector's values are independent. A pair of vectors
// made so that all err to one side may be missed.
const roundings = 6

// rounding is the standard deviation of an int8 value's rounding error.
const rounding = 0.2887

// margin is how far the product of a question with a vector may be off, both of
// them of unit length, from the steps of their int8 forms.
func margin(question, scale float32) float32 {
	return roundings * rounding * float32(math.Sqrt(float64(question*question+scale*scale)))
}

// perScanner is how many chunks are worth a goroutine: some fifty microseconds of
// scanning.
const perScanner = 8

// nearest is how many are picked by vector where so many candidates are asked for:
// most of them are among the best by words too, and twice as many changed nothing on
// any data set.
func nearest(limit int) int { return (limit + 1) / 2 }

// pickVectors returns the best by their exact cosine and marks them as wanted: all
// vectors are scanned as int8, and those rescored that may be among the best for all
// that rounding can do. Vectors of another length are of another model and left out.
func (d *desk) pickVectors(parts []*part, s *memory.Search) []found {
	chunks := 0
	for _, p := range parts {
		chunks += len(p.chunks)
	}
	of := max(1, min(runtime.GOMAXPROCS(0)/int(max(1, searching.Load())), chunks/perScanner))
	d.scanners = slices.Grow(d.scanners[:0], of)[:of]
	query, step := vector.NewQuery(s.Vector), largest(s.Vector)/127
	var wg sync.WaitGroup
	for i := range d.scanners {
		x := &d.scanners[i]
		x.query, x.step, x.dims = query, step, len(s.Vector)
		x.best.begin(nearest(s.Limit), float32(math.Inf(-1)))
		if i > 0 {
			wg.Go(func() { x.scan(parts, i, of) })
		}
	}
	d.scanners[0].scan(parts, 0, of)
	wg.Wait()
	best := &d.scanners[0].best
	for i := range d.scanners[1:] {
		best.list = append(best.list, d.scanners[1+i].best.list...)
	}
	best.squeeze()
	for i := range best.list {
		f := &best.list[i]
		f.cosine = parts[f.part].cosineOf(f.n, s.Vector)
		f.score = f.cosine
	}
	near := d.sorter.sort(parts, best.list, nearest(s.Limit))
	for _, f := range near {
		p := parts[f.part]
		mark(p.wanted, f.n)
		p.cosines[f.n] = f.cosine
	}
	return near
}

// scanner scans a share of the chunks.
type scanner struct {
	query  vector.Query
	step   float32 // of the query's int8 form
	dims   int
	best   picks
	scores [chunkRows]float32
	above  []int32
}

// scan scans the share of one of so many scanners.
func (x *scanner) scan(parts []*part, share, of int) {
	for i, p := range parts {
		if p.dims != x.dims {
			continue
		}
		most := margin(x.step, p.maxScale)
		for j := share * len(p.chunks) / of; j < (share+1)*len(p.chunks)/of; j++ {
			quant := &p.chunks[j].quant
			scores := x.scores[:len(quant.Scales)]
			vector.Scan(x.query, *quant, scores)
			x.above = vector.Above(scores, x.best.least-most, x.above)
			for _, row := range x.above {
				n := p.rowDoc[j*chunkRows+int(row)]
				if n == none {
					continue
				}
				f := found{part: int32(i), n: n, score: scores[row], margin: margin(x.step, quant.Scales[row])}
				if f.score+f.margin >= x.best.least && p.admits(n) {
					x.best.list = append(x.best.list, f)
				}
			}
			x.best.squeezeFull()
		}
	}
	x.best.squeeze()
}

// cosineOf returns the exact cosine of a document's vector, 0 without one.
func (p *part) cosineOf(n int32, v []float32) float32 {
	row := p.docs[n].row
	if row == none || p.dims != len(v) {
		return 0
	}
	return vector.DotPacked(v, p.half(row))
}

func largest(v []float32) float32 {
	var most float32
	for _, x := range v {
		most = max(most, x, -x)
	}
	return most
}
