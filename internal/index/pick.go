package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/vector"
)

// scoredDoc is a document with the score by which it is picked: the exact score is within score ± margin.
type scoredDoc struct {
	segmentIndex, doc int32
	score, margin     float32
	cosine            float32
}

// unknownCosine is a cosine that is not computed yet.
const unknownCosine = -2

// pickByWords returns the best documents by words, in no particular order.
func pickByWords(segments []*segment, picks *topPicks) []scoredDoc {
	picks.peaks = picks.peaks[:0]
	for _, p := range segments {
		p.computeWordScores()
		for from, to := range p.scoredBlocks() {
			picks.peaks = vector.Peaks(picks.peaks, p.wordScores[from:to])
		}
	}
	picks.picks = picks.picks[:0]
	picks.pickWithPrediction(0, func() {
		for i, p := range segments {
			for from, to := range p.scoredBlocks() {
				for _, j := range p.blockDocsAbove(from, to, picks.minScore) {
					if n := int32(from) + j; p.admits(n) {
						picks.picks = append(picks.picks, scoredDoc{segmentIndex: int32(i), doc: n, score: p.wordScores[n], cosine: unknownCosine})
					}
				}
				picks.pruneIfFull()
			}
		}
	})
	picks.prune()
	return picks.picks
}

// sorter is the working memory for sorting scored documents.
type sorter struct {
	keys     []uint64
	unsorted []scoredDoc
}

// sort sorts a list by score, then by id, and returns the first limit documents.
func (x *sorter) sort(segments []*segment, list []scoredDoc, limit int) []scoredDoc {
	// Sorting numbers is several times faster than sorting structs with a comparison function.
	keys := slices.Grow(x.keys[:0], len(list))[:len(list)]
	for i, f := range list {
		keys[i] = uint64(^sortableBits(f.score))<<32 | uint64(i)
	}
	slices.Sort(keys)
	x.keys, x.unsorted = keys, append(x.unsorted[:0], list...)
	for i, key := range keys {
		list[i] = x.unsorted[uint32(key)]
	}
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j].score == list[i].score {
			j++
		}
		if j > i+1 {
			slices.SortFunc(list[i:j], func(a, b scoredDoc) int {
				return cmp.Or(compareIDs(segments[a.segmentIndex].contents, a.doc, segments[b.segmentIndex].contents, b.doc), cmp.Compare(a.segmentIndex, b.segmentIndex))
			})
		}
		i = j
	}
	return list[:min(len(list), limit)]
}

// sortableBits returns bits that sort like the number.
func sortableBits(x float32) uint32 {
	bits := math.Float32bits(x + 0) // avoids negative zero
	if bits>>31 == 1 {
		return ^bits
	}
	return bits | 1<<31
}

// topPicks collects scored documents (picks), and drops those that cannot be among the best limit picks.
type topPicks struct {
	limit       int
	minScore    float32 // minimum of score + margin of a pick
	picks       []scoredDoc
	pruneAt     int // number of picks that triggers prune
	lowerBounds []float32
	peaks       []float32 // peaks of the scores to pick from (see [vector.Peaks])
}

// reset removes all picks and reuses their memory.
func (k *topPicks) reset(limit int, minScore float32) {
	k.limit, k.minScore, k.picks, k.pruneAt = limit, minScore, k.picks[:0], 2*limit
	k.peaks = k.peaks[:0]
}

// pickWithPrediction calls pick, which appends documents with a score of at least minScore. Before, it
// raises minScore to a prediction from the peaks, whose scores may be wrong by margin, so that few picks
// are dropped later. If too few picks reach the prediction, it restores minScore and calls pick again.
func (k *topPicks) pickWithPrediction(margin float32, pick func()) {
	initialScore, initialCount := k.minScore, len(k.picks)
	if len(k.peaks) >= k.limit {
		k.minScore = max(initialScore, nthLargest(k.peaks, k.limit)-margin)
	}
	pick()
	if k.minScore == initialScore || k.hasEnoughPicks() {
		return
	}
	k.minScore, k.picks, k.pruneAt = initialScore, k.picks[:initialCount], 2*k.limit
	pick()
}

// hasEnoughPicks reports whether at least limit picks reach minScore even with the largest error.
func (k *topPicks) hasEnoughPicks() bool {
	n := 0
	for _, f := range k.picks {
		n += boolToInt(f.score-f.margin >= k.minScore)
	}
	return n >= k.limit
}

func (k *topPicks) pruneIfFull() {
	if len(k.picks) >= k.pruneAt {
		k.prune()
		k.pruneAt = max(2*k.limit, len(k.picks)*3/2)
	}
}

func (k *topPicks) prune() {
	if len(k.picks) < k.limit {
		return
	}
	k.lowerBounds = slices.Grow(k.lowerBounds[:0], len(k.picks))[:len(k.picks)]
	for i, f := range k.picks {
		k.lowerBounds[i] = f.score - f.margin
	}
	k.minScore = max(k.minScore, nthLargest(k.lowerBounds, k.limit))
	kept := 0
	for _, f := range k.picks {
		k.picks[kept] = f
		kept += boolToInt(f.score+f.margin >= k.minScore)
	}
	k.picks = k.picks[:kept]
}

// nthLargest returns the n-th largest number of x, for n from 1 to len(x), and reorders x. The loops
// avoid branches, which the processor would often mispredict.
func nthLargest(x []float32, n int) float32 {
	for {
		pivot := x[len(x)/2]
		larger := 0
		for i, v := range x {
			x[i], x[larger] = x[larger], v
			larger += boolToInt(v > pivot)
		}
		if n <= larger {
			x = x[:larger]
			continue
		}
		x, n = x[larger:], n-larger
		same := 0
		for i, v := range x {
			x[i], x[same] = x[same], v
			same += boolToInt(v == pivot)
		}
		if n <= same {
			return pivot
		}
		x, n = x[same:], n-same
	}
}

func boolToInt(b bool) int {
	n := 0
	if b {
		n = 1
	}
	return n
}
