package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/vector"
)

// scoredDoc is a document with the score by which it is picked. The score may be wrong by up to the
// margin.
type found struct {
	part, n       int32
	score, margin float32
	cosine        float32
}

// unknownCosine is a cosine that is not computed yet.
const unknown = -2

// pickByWords returns the best documents by words, in no particular order.
func pickWords(parts []*segment, best *topPicks) []found {
	best.peaks = best.peaks[:0]
	for _, p := range parts {
		p.measure()
		for from, to := range p.scored() {
			best.peaks = vector.Peaks(best.peaks, p.measures[from:to])
		}
	}
	best.list = best.list[:0]
	best.pickPredicted(0, func() {
		for i, p := range parts {
			for from, to := range p.scored() {
				for _, j := range p.reaching(from, to, best.least) {
					if n := int32(from) + j; p.admits(n) {
						best.list = append(best.list, found{part: int32(i), n: n, score: p.measures[n], cosine: unknown})
					}
				}
				best.squeezeFull()
			}
		}
	})
	best.squeeze()
	return best.list
}

// sorter sorts scored documents. It reuses its memory.
type sorter struct {
	keys []uint64
	list []found
}

// sort sorts a list by score, then by id, and returns the first limit documents.
func (x *sorter) sort(parts []*segment, list []found, limit int) []found {
	// Numbers sort several times faster than structs with a function.
	keys := slices.Grow(x.keys[:0], len(list))[:len(list)]
	for i, f := range list {
		keys[i] = uint64(^sortableBits(f.score))<<32 | uint64(i)
	}
	slices.Sort(keys)
	x.keys, x.list = keys, append(x.list[:0], list...)
	for i, key := range keys {
		list[i] = x.list[uint32(key)]
	}
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j].score == list[i].score {
			j++
		}
		if j > i+1 {
			slices.SortFunc(list[i:j], func(a, b found) int {
				return cmp.Or(compareIDs(parts[a.part].contents, a.n, parts[b.part].contents, b.n), cmp.Compare(a.part, b.part))
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

// topPicks collects documents, and drops picks that cannot be among the best limit picks.
type topPicks struct {
	limit int
	least float32 // lowest score of a retained pick, before its margin is added
	list  []found
	full  int // number of picks that triggers prune
	sure  []float32
	peaks []float32 // peaks of the scores to pick from (see [vector.Peaks])
}

// reset empties the list. Earlier results must no longer be used.
func (k *topPicks) begin(limit int, least float32) {
	k.limit, k.least, k.list, k.full = limit, least, k.list[:0], 2*limit
	k.peaks = k.peaks[:0]
}

// pickWithPrediction calls pick, which appends documents with a score of at least minScore. It
// predicts minScore from the peaks of the scores and their margin, so that few picks are dropped
// later. If too few scores reach the prediction, it restores minScore and calls pick again.
func (k *topPicks) pickPredicted(margin float32, pick func()) {
	least, held := k.least, len(k.list)
	if len(k.peaks) >= k.limit {
		k.least = max(least, nthLargest(k.peaks, k.limit)-margin)
	}
	pick()
	if k.least == least || k.reached() {
		return
	}
	k.least, k.list, k.full = least, k.list[:held], 2*k.limit
	pick()
}

// limitReached reports whether enough picks certainly reach minScore.
func (k *topPicks) reached() bool {
	n := 0
	for _, f := range k.list {
		n += count(f.score-f.margin >= k.least)
	}
	return n >= k.limit
}

func (k *topPicks) squeezeFull() {
	if len(k.list) >= k.full {
		k.squeeze()
		k.full = max(2*k.limit, len(k.list)*3/2)
	}
}

// prune drops picks that cannot be among the best limit picks.
func (k *topPicks) squeeze() {
	if len(k.list) < k.limit {
		return
	}
	k.sure = slices.Grow(k.sure[:0], len(k.list))[:len(k.list)]
	for i, f := range k.list {
		k.sure[i] = f.score - f.margin
	}
	k.least = max(k.least, nthLargest(k.sure, k.limit))
	kept := 0
	for _, f := range k.list {
		k.list[kept] = f
		kept += count(f.score+f.margin >= k.least)
	}
	k.list = k.list[:kept]
}

// nthLargest returns the n-th largest number of x, and reorders x. n is from 1 to len(x). The loops
// have no branches that a processor would mispredict.
func nthLargest(x []float32, n int) float32 {
	for {
		pivot := x[len(x)/2]
		larger := 0
		for i, v := range x {
			x[i], x[larger] = x[larger], v
			larger += count(v > pivot)
		}
		if n <= larger {
			x = x[:larger]
			continue
		}
		x, n = x[larger:], n-larger
		same := 0
		for i, v := range x {
			x[i], x[same] = x[same], v
			same += count(v == pivot)
		}
		if n <= same {
			return pivot
		}
		x, n = x[same:], n-same
	}
}

func count(is bool) int {
	n := 0
	if is {
		n = 1
	}
	return n
}
