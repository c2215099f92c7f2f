package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/vector"
)

// found is a document with the score by which it is picked. The score may be off by the margin.
type found struct {
	part, n       int32
	score, margin float32
	cosine        float32
}

// unknown marks a cosine that is not computed yet.
const unknown = -2

// pickWords returns the best documents by words, unordered.
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

// sorter sorts found documents. It reuses its memory.
type sorter struct {
	keys []uint64
	list []found
}

// sort sorts a list by score, then by id, and returns the first limit entries.
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

// sortableBits returns bits in the order of the numbers.
func sortableBits(x float32) uint32 {
	bits := math.Float32bits(x + 0) // no negative zero
	if bits>>31 == 1 {
		return ^bits
	}
	return bits | 1<<31
}

// topPicks keeps the entries of its list that may be among the best limit entries.
type topPicks struct {
	limit int
	least float32 // the lowest score kept, plus margin
	list  []found
	full  int // length of the list that triggers squeeze
	sure  []float32
	peaks []float32 // peaks of the scores to pick from: see [vector.Peaks]
}

// begin empties the list. Earlier picks must no longer be used.
func (k *topPicks) begin(limit int, least float32) {
	k.limit, k.least, k.list, k.full = limit, least, k.list[:0], 2*limit
	k.peaks = k.peaks[:0]
}

// pickPredicted calls pick, which lists the scores of at least least. It predicts least from the
// peaks of the scores and their margin, so that few entries are dropped later. If too few scores
// reach least although some peaks are below it, the prediction was too high, and it picks
// everything again.
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

// reached reports whether enough entries certainly reach least.
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

// squeeze drops entries that cannot be among the best limit entries.
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

// nthLargest returns the n-th largest of x, and reorders x. n is from 1 to len(x). It partitions
// without branches, which no processor could predict.
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

// count returns 1 for true.
func count(is bool) int {
	n := 0
	if is {
		n = 1
	}
	return n
}
