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

// marginDeviations is the assumed largest rounding error of an int8 product, in standard deviations.
// If the errors of a vector's values are independent, a larger error occurs once in 10^9 products. A
// vector whose errors all have the same sign may be missed.
const marginDeviations = 6

// int8Deviation is the standard deviation of an int8 value's rounding error, in steps: 1/sqrt(12).
const int8Deviation = 0.2887

// roundingMargin returns the largest assumed rounding error of the product of a question and a vector of
// unit length. The arguments are the quantization steps of their int8 forms.
func roundingMargin(questionStep, vectorStep float32) float32 {
	return marginDeviations * int8Deviation * float32(math.Sqrt(float64(questionStep*questionStep+vectorStep*vectorStep)))
}

// chunksPerScanner is the minimum number of chunks per scanner; scanning that many takes about fifty
// microseconds.
const chunksPerScanner = 8

// vectorSearch is the vector part of a search; it runs concurrently with the word part. Each scanner
// repeatedly takes the next chunk. The goroutine that calls finish is also a scanner, and runs scanners
// whose goroutines have not started yet.
type vectorSearch struct {
	segments   []*segment
	search     *memory.Search
	scanners   []scanner
	nextChunk  atomic.Int32 // number of the next chunk to scan, counted over all segments
	otherScans []func()     // scans by other goroutines; a call waits until the scan is done, and starts it if necessary
	finished   bool
	bestDocs   []scoredDoc
	rescorer   exactScorer
}

// vectorPickLimit returns how many candidates are picked by vector: s.Limit or, unless vectors are
// preferred, half of it, since most of these picks are also among the best by words. More picks did
// not improve the results on any data set.
func vectorPickLimit(s *memory.Search) int {
	if s.PreferVectors {
		return s.Limit
	}
	return (s.Limit + 1) / 2
}

// reset resets the search: finish returns nothing until start is called.
func (x *vectorSearch) reset() {
	x.scanners, x.otherScans, x.finished, x.bestDocs = x.scanners[:0], x.otherScans[:0], true, nil
}

// start starts scanners, fewer if there are few chunks or other searches run. If s has no vector, it
// does nothing.
func (x *vectorSearch) start(segments []*segment, s *memory.Search) {
	if s.Vector == nil || s.WordsOnly {
		return
	}
	x.segments, x.search, x.finished = segments, s, false
	chunks := 0
	for _, p := range segments {
		chunks += len(p.chunks)
	}
	scanners := max(1, min(runtime.GOMAXPROCS(0)/int(max(1, activeSearches.Load())), chunks/chunksPerScanner))
	x.scanners = slices.Grow(x.scanners, scanners)[:scanners]
	x.nextChunk.Store(0)
	query, step := vector.NewQuery(s.Vector), largestMagnitude(s.Vector)/127
	for i := range x.scanners {
		sc := &x.scanners[i]
		sc.query, sc.queryStep, sc.dims = query, step, len(s.Vector)
		sc.unpicked = sc.unpicked[:0]
		sc.best.reset(vectorPickLimit(s), float32(math.Inf(-1)))
		if i > 0 {
			other := sync.OnceFunc(func() { x.scan(sc) })
			x.otherScans = append(x.otherScans, other)
			go other()
		}
	}
}

// hasOneScanner reports whether there is only one scanner. The caller then finishes the scan before it scores
// words, so that word scores stay in the CPU cache.
func (x *vectorSearch) hasOneScanner() bool { return len(x.scanners) == 1 }

// finish helps to finish the scan, marks the best documents by exact cosine in vectorPicks, and returns
// them. Documents that may be among the best despite the rounding error of int8 are rescored. Vectors
// of another length, which belong to another model, are skipped. A second call returns the same result.
func (x *vectorSearch) finish(docSorter *sorter) []scoredDoc {
	if x.finished {
		return x.bestDocs
	}
	x.finished = true
	x.scan(&x.scanners[0])
	x.wait()
	best := &x.scanners[0].best
	for i := range x.scanners[1:] {
		best.picks = append(best.picks, x.scanners[1+i].best.picks...)
	}
	best.prune()
	x.rescorer.rescore(x.segments, best.picks, x.search.Vector)
	for i := range best.picks {
		best.picks[i].score = best.picks[i].cosine
	}
	x.bestDocs = docSorter.sort(x.segments, best.picks, vectorPickLimit(x.search))
	for _, f := range x.bestDocs {
		p := x.segments[f.segmentIndex]
		markDoc(p.vectorPicks, f.doc)
		p.cosines[f.doc] = f.cosine
	}
	return x.bestDocs
}

// wait waits until no scanner reads chunks any more.
func (x *vectorSearch) wait() {
	for _, other := range x.otherScans {
		other()
	}
}

// dropReferences clears references to segments, so that the memory of an evicted owner can be
// freed.
func (x *vectorSearch) dropReferences() {
	x.segments, x.search = nil, nil
	clear(x.otherScans)
	for i := range x.scanners {
		fresh := x.scanners[i].unpicked
		clear(fresh[:cap(fresh)])
	}
}

func (x *vectorSearch) scan(sc *scanner) {
	for {
		j, i := int(x.nextChunk.Add(1)-1), 0
		for i < len(x.segments) && j >= len(x.segments[i].chunks) {
			j, i = j-len(x.segments[i].chunks), i+1
		}
		if i == len(x.segments) {
			break
		}
		if p := x.segments[i]; p.dims == sc.dims && !p.ignoresVectors {
			sc.scanChunk(scannedChunk{p, int32(i), j})
		}
	}
	sc.pickScanned()
	sc.best.prune()
}

// chunksPerPick is how many chunks are scanned before their best documents are picked. The scores of
// several chunks predict a high minScore, so fewer documents are picked in vain. They take 32 KiB.
const chunksPerPick = 16

// scanner scans some of the chunks on one goroutine.
type scanner struct {
	query          vector.Query
	queryStep      float32 // quantization step of the query's int8 form
	dims           int
	best           topPicks
	unpicked       []scannedChunk // scanned chunks whose best documents are not picked yet
	scores         [chunksPerPick * chunkRows]float32
	aboveThreshold []int32
}

type scannedChunk struct {
	*segment
	segmentIndex int32 // index of the segment among those of the search
	chunkIndex   int   // index of the chunk in its segment
}

func (s scannedChunk) int8Block() *vector.Block { return &s.chunks[s.chunkIndex].int8Rows }

// scanChunk computes the int8 products of the question with all vectors of a chunk.
func (x *scanner) scanChunk(s scannedChunk) {
	if len(x.unpicked) == chunksPerPick {
		x.pickScanned()
	}
	scores := x.scores[len(x.unpicked)*chunkRows:][:len(s.int8Block().Scales)]
	vector.Scan(x.query, *s.int8Block(), scores)
	x.best.peaks = vector.Peaks(x.best.peaks, scores)
	x.unpicked = append(x.unpicked, s)
}

func (x *scanner) pickScanned() {
	var most float32
	for _, s := range x.unpicked {
		most = max(most, roundingMargin(x.queryStep, s.maxScale))
	}
	x.best.pickWithPrediction(most, func() {
		for at, s := range x.unpicked {
			x.pickFromChunk(s, x.scores[at*chunkRows:][:len(s.int8Block().Scales)])
			x.best.pruneIfFull()
		}
	})
	x.best.peaks, x.unpicked = x.best.peaks[:0], x.unpicked[:0]
}

func (x *scanner) pickFromChunk(s scannedChunk, scores []float32) {
	x.aboveThreshold = vector.Above(scores, x.best.minScore-roundingMargin(x.queryStep, s.maxScale), x.aboveThreshold)
	for _, row := range x.aboveThreshold {
		n := s.docByRow[s.chunkIndex*chunkRows+int(row)]
		if n == none {
			continue
		}
		f := scoredDoc{segmentIndex: s.segmentIndex, doc: n, score: scores[row], margin: roundingMargin(x.queryStep, s.int8Block().Scales[row]), cosine: unknownCosine}
		if f.score+f.margin >= x.best.minScore && s.admits(n) {
			x.best.picks = append(x.best.picks, f)
		}
	}
}

type exactScorer struct {
	rows        [][]uint16
	listIndexes []int32 // by row: index of its document in the list
	dots        []float32
}

// rescore computes the unknown cosines in a list from the float16 vectors. It sets 0 for a document
// without a vector of the question's model.
func (x *exactScorer) rescore(segments []*segment, list []scoredDoc, question []float32) {
	x.rows, x.listIndexes = x.rows[:0], x.listIndexes[:0]
	for i := range list {
		f := &list[i]
		if f.cosine != unknownCosine {
			continue
		}
		p := segments[f.segmentIndex]
		row := p.docs[f.doc].row
		if row < 0 || p.dims != len(question) || p.ignoresVectors {
			f.cosine = 0
			continue
		}
		x.rows, x.listIndexes = append(x.rows, p.packedRow(row)), append(x.listIndexes, int32(i))
	}
	x.dots = slices.Grow(x.dots[:0], len(x.rows))[:len(x.rows)]
	vector.DotEach(question, x.rows, x.dots)
	for i, at := range x.listIndexes {
		list[at].cosine = x.dots[i]
	}
	clear(x.rows) // drops references, so that the memory of an evicted owner can be freed
}

func largestMagnitude(v []float32) float32 {
	var most float32
	for _, x := range v {
		most = max(most, x, -x)
	}
	return most
}
