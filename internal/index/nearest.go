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

// marginDeviations is the assumed bound of an int8 product's rounding error, in standard
// deviations. If the errors of a vector's values are independent, a larger error occurs once in
// 10^9 products. Vectors whose errors all have the same sign may be missed.
const roundings = 6

// int8Deviation is the standard deviation of an int8 value's rounding error, in steps: 1/sqrt(12).
const rounding = 0.2887

// roundingMargin returns the largest assumed error of the product of a question and a vector, both of unit
// length. The arguments are the quantization steps of their int8 forms.
func margin(question, scale float32) float32 {
	return roundings * rounding * float32(math.Sqrt(float64(question*question+scale*scale)))
}

// chunksPerScanner is how many chunks justify another goroutine: about fifty microseconds of
// scanning.
const perScanner = 8

// vectorSearch is the vector part of a search; it runs concurrently with the word part. Scanners
// take one chunk after the other. The goroutine that waits for the result is also a scanner, and
// runs scanners that have not started yet.
type vectorSearch struct {
	parts   []*segment
	s       *memory.Search
	scanner []scanner
	next    atomic.Int32 // the next chunk to scan, counted through all segments
	others  []func()     // each function scans, or waits for its scan; a second call does nothing
	joined  bool
	best    []found
	exact   exact
}

// vectorPickLimit returns how many candidates are picked by vector. If the search also has words,
// it is half of the limit: most picks are also among the best by words, and more picks did not
// improve any data set.
func nearest(s *memory.Search) int {
	if s.ByVector {
		return s.Limit
	}
	return (s.Limit + 1) / 2
}

// reset resets the search: finish returns nothing until start is called.
func (x *vectorSearch) reset() {
	x.scanner, x.others, x.joined, x.best = x.scanner[:0], x.others[:0], true, nil
}

// start starts as many scanners as are useful, or only one if the machine is busy with other
// searches. Without a vector in s it does nothing.
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

// isSingle reports whether there is only one scanner. The caller then scans everything at once, so
// that word scores stay in the CPU cache.
func (x *vectorSearch) alone() bool { return len(x.scanner) == 1 }

// finish helps to finish the scan and returns the best vectors by exact cosine, marked in
// vectorPicks. All vectors are scanned as int8; vectors that may be among the best within the
// rounding error are rescored. Vectors of another length, which belong to another model, are
// skipped. A second call returns the same result.
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

// wait returns when no scanner reads chunks any more.
func (x *vectorSearch) wait() {
	for _, other := range x.others {
		other()
	}
}

// dropReferences clears references to segments, so that the memory of an evicted owner can be
// freed.
func (x *vectorSearch) release() {
	x.parts, x.s = nil, nil
	clear(x.others)
	for i := range x.scanner {
		fresh := x.scanner[i].fresh
		clear(fresh[:cap(fresh)])
	}
}

// scan scans chunks until every chunk is scanned.
func (x *vectorSearch) scan(one *scanner) {
	for {
		j, i := int(x.next.Add(1)-1), 0
		for i < len(x.parts) && j >= len(x.parts[i].chunks) {
			j, i = j-len(x.parts[i].chunks), i+1
		}
		if i == len(x.parts) {
			break
		}
		if p := x.parts[i]; p.dims == one.dims && !p.vectorsUnused {
			one.scan(scanned{p, int32(i), j})
		}
	}
	one.pick()
	one.best.squeeze()
}

// chunksPerPick is how many chunks are scanned before their best documents are picked. With several
// chunks the threshold is better from the start. Their scores take 32 KiB.
const pickedAtOnce = 16

// scanner scans some of the chunks on one goroutine.
type scanner struct {
	query  vector.Query
	step   float32 // quantization step of the query's int8 form
	dims   int
	best   topPicks
	fresh  []scanned // scanned chunks whose best documents are not picked yet
	scores [pickedAtOnce * chunkRows]float32
	above  []int32
}

// scannedChunk refers to a scanned chunk.
type scanned struct {
	*segment
	i int32 // index of the segment
	j int   // index of the chunk
}

func (s scanned) block() *vector.Block { return &s.chunks[s.j].quant }

// scanChunk scans a chunk.
func (x *scanner) scan(s scanned) {
	if len(x.fresh) == pickedAtOnce {
		x.pick()
	}
	scores := x.scores[len(x.fresh)*chunkRows:][:len(s.block().Scales)]
	vector.Scan(x.query, *s.block(), scores)
	x.best.peaks = vector.Peaks(x.best.peaks, scores)
	x.fresh = append(x.fresh, s)
}

// pickScanned picks the best documents of the scanned chunks.
func (x *scanner) pick() {
	var most float32
	for _, s := range x.fresh {
		most = max(most, margin(x.step, s.maxScale))
	}
	x.best.pickPredicted(most, func() {
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

// exactScorer is the working memory for exact cosines of scattered documents.
type exact struct {
	rows [][]uint16
	of   []int32 // index in the list, by row
	dots []float32
}

// rescore sets the unknown cosines in a list. A document without a vector of the question's model
// gets 0.
func (x *exact) rescore(parts []*segment, list []found, v []float32) {
	x.rows, x.of = x.rows[:0], x.of[:0]
	for i := range list {
		f := &list[i]
		if f.cosine != unknown {
			continue
		}
		p := parts[f.part]
		row := p.docs[f.n].row
		if row < 0 || p.dims != len(v) || p.vectorsUnused {
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
	clear(x.rows) // drops references, so that an evicted owner can be freed
}

func largest(v []float32) float32 {
	var most float32
	for _, x := range v {
		most = max(most, x, -x)
	}
	return most
}
