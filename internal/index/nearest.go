package index

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

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

// vectorSearch is the vectors' side of a search while the words' side goes on. The
// scanners take one chunk after the other; who waits for them is one of them, and stands
// in for those that no processor was free for yet.
type vectorSearch struct {
	parts   []*segment
	s       *memory.Search
	scanner []scanner
	next    atomic.Int32 // the chunk to be scanned next, counted through all parts
	others  []func()     // each scans, or waits until it has; again it does nothing
	joined  bool
	best    []found
	exact   exact
}

// nearest is how many are picked by vector: beside words half of the candidates that are
// asked for, since most are among the best by words too, and twice as many changed nothing
// on any data set.
func nearest(s *memory.Search) int {
	if s.ByVector {
		return s.Limit
	}
	return (s.Limit + 1) / 2
}

// rest leaves nothing to be found: until begin, join finds nothing.
func (x *vectorSearch) rest() {
	x.scanner, x.others, x.joined, x.best = x.scanner[:0], x.others[:0], true, nil
}

// begin starts the scanners that are worth a goroutine, unless the machine is busy
// with other searches: then it is alone. Without a vector there is nothing to do.
func (x *vectorSearch) begin(parts []*segment, s *memory.Search) {
	if s.Vector == nil || s.ByWords {
		return
	}
	x.parts, x.s, x.joined = parts, s, false
	chunks := 0
	for _, p := range parts {
		chunks += len(p.chunks)
	}
	of := max(1, min(runtime.GOMAXPROCS(0)/int(max(1, searching.Load())), chunks/perScanner))
	x.scanner = slices.Grow(x.scanner, of)[:of]
	x.next.Store(0)
	query, step := vector.NewQuery(s.Vector), largest(s.Vector)/127
	for i := range x.scanner {
		one := &x.scanner[i]
		one.query, one.step, one.dims = query, step, len(s.Vector)
		one.fresh = one.fresh[:0]
		one.best.begin(nearest(s), float32(math.Inf(-1)))
		if i > 0 {
			other := sync.OnceFunc(func() { x.scan(one) })
			x.others = append(x.others, other)
			go other()
		}
	}
}

// alone reports whether nobody helps: then all is best scanned at once, since scores of
// words are best used while they are at hand.
func (x *vectorSearch) alone() bool { return len(x.scanner) == 1 }

// join helps the scanners to the end, and returns the best by their exact cosine,
// marked as wanted: all vectors are scanned as int8, and those rescored that may be
// among the best for all that rounding can do. Vectors of another length are of
// another model and left out. It may be called again.
func (x *vectorSearch) join(by *sorter) []found {
	if x.joined {
		return x.best
	}
	x.joined = true
	x.scan(&x.scanner[0])
	x.wait()
	best := &x.scanner[0].best
	for i := range x.scanner[1:] {
		best.list = append(best.list, x.scanner[1+i].best.list...)
	}
	best.squeeze()
	x.exact.rescore(x.parts, best.list, x.s.Vector)
	for i := range best.list {
		best.list[i].score = best.list[i].cosine
	}
	x.best = by.sort(x.parts, best.list, nearest(x.s))
	for _, f := range x.best {
		p := x.parts[f.part]
		mark(p.wanted, f.n)
		p.cosines[f.n] = f.cosine
	}
	return x.best
}

// wait returns when no scanner reads any more, nor will.
func (x *vectorSearch) wait() {
	for _, other := range x.others {
		other()
	}
}

// release lets go of what was searched: an evicted owner is not to stay.
func (x *vectorSearch) release() {
	x.parts, x.s = nil, nil
	clear(x.others)
	for i := range x.scanner {
		fresh := x.scanner[i].fresh
		clear(fresh[:cap(fresh)])
	}
}

// scan takes chunks until none is left.
func (x *vectorSearch) scan(one *scanner) {
	for {
		j, i := int(x.next.Add(1)-1), 0
		for i < len(x.parts) && j >= len(x.parts[i].chunks) {
			j, i = j-len(x.parts[i].chunks), i+1
		}
		if i == len(x.parts) {
			break
		}
		if p := x.parts[i]; p.dims == one.dims && !p.resting {
			one.scan(scanned{p, int32(i), j})
		}
	}
	one.pick()
	one.best.squeeze()
}

// pickedAtOnce is how many chunks are scanned before the best of them are picked: the
// more, the better is known from the start what is worth a look. Their scores take 32 KiB.
const pickedAtOnce = 16

// scanner scans some of the chunks.
type scanner struct {
	query  vector.Query
	step   float32 // of the query's int8 form
	dims   int
	best   topPicks
	fresh  []scanned // of which nothing was picked yet
	scores [pickedAtOnce * chunkRows]float32
	above  []int32
}

// scanned is a chunk whose scores are known.
type scanned struct {
	*segment
	i int32 // which of the parts
	j int   // which of its chunks
}

func (s scanned) block() *vector.Block { return &s.chunks[s.j].quant }

// scan scans a chunk.
func (x *scanner) scan(s scanned) {
	if len(x.fresh) == pickedAtOnce {
		x.pick()
	}
	scores := x.scores[len(x.fresh)*chunkRows:][:len(s.block().Scales)]
	vector.Scan(x.query, *s.block(), scores)
	x.best.peaks = vector.Peaks(x.best.peaks, scores)
	x.fresh = append(x.fresh, s)
}

// pick picks the best of the chunks that were scanned.
func (x *scanner) pick() {
	var most float32
	for _, s := range x.fresh {
		most = max(most, margin(x.step, s.maxScale))
	}
	x.best.foretold(most, func() {
		for at, s := range x.fresh {
			x.pickOf(s, x.scores[at*chunkRows:][:len(s.block().Scales)])
			x.best.squeezeFull()
		}
	})
	x.best.peaks, x.fresh = x.best.peaks[:0], x.fresh[:0]
}

func (x *scanner) pickOf(s scanned, scores []float32) {
	x.above = vector.Above(scores, x.best.least-margin(x.step, s.maxScale), x.above)
	for _, row := range x.above {
		n := s.rowDoc[s.j*chunkRows+int(row)]
		if n == none {
			continue
		}
		f := found{part: s.i, n: n, score: scores[row], margin: margin(x.step, s.block().Scales[row]), cosine: unknown}
		if f.score+f.margin >= x.best.least && s.admits(n) {
			x.best.list = append(x.best.list, f)
		}
	}
}

// exact is room for the exact cosines of documents that lie anywhere.
type exact struct {
	rows [][]uint16
	of   []int32 // places in the list that the rows are of
	dots []float32
}

// rescore sets the cosines in a list that are unknown, to 0 without a vector of the
// question's model.
func (x *exact) rescore(parts []*segment, list []found, v []float32) {
	x.rows, x.of = x.rows[:0], x.of[:0]
	for i := range list {
		f := &list[i]
		if f.cosine != unknown {
			continue
		}
		p := parts[f.part]
		row := p.docs[f.n].row
		if row < 0 || p.dims != len(v) || p.resting {
			f.cosine = 0
			continue
		}
		x.rows, x.of = append(x.rows, p.half(row)), append(x.of, int32(i))
	}
	x.dots = slices.Grow(x.dots[:0], len(x.rows))[:len(x.rows)]
	vector.DotEach(v, x.rows, x.dots)
	for i, at := range x.of {
		list[at].cosine = x.dots[i]
	}
	clear(x.rows) // an evicted owner is not to stay
}

func largest(v []float32) float32 {
	var most float32
	for _, x := range v {
		most = max(most, x, -x)
	}
	return most
}
