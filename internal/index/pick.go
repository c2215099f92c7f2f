package index

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// found is a document with a score to be picked by. The score may be off by the
// margin.
type found struct {
	part, n       int32
	score, margin float32
	cosine        float32
}

// unknown is a cosine that was not computed yet.
const unknown = -2

// pickWords returns the best by words, in no order.
func pickWords(parts []*part, limit int) []found {
	best := newPicks(limit)
	best.least = leastOfBest(parts, parts[0].most, limit)
	for i, p := range parts {
		for j, word := range p.among() {
			for ; word != 0; word &= word - 1 {
				n := int32(j<<6 + bits.TrailingZeros64(word) - lead)
				if x := p.scores[n].byWords(); x > 0 && x >= best.least && p.admits(n) {
					best.offer(found{part: int32(i), n: n, score: x, cosine: unknown})
				}
			}
		}
	}
	best.squeeze()
	return best.list
}

// sorted orders found documents by score, and equal ones by id, and cuts off what
// is beyond limit.
func sorted(parts []*part, list []found, limit int) []found {
	// Numbers sort several times faster than structs by a function.
	keys := make([]uint64, len(list))
	for i, f := range list {
		keys[i] = uint64(^ascending(f.score))<<32 | uint64(i)
	}
	slices.Sort(keys)
	out := make([]found, len(list))
	for i, key := range keys {
		out[i] = list[uint32(key)]
	}
	for i := 0; i < len(out); {
		j := i + 1
		for j < len(out) && out[j].score == out[i].score {
			j++
		}
		if j > i+1 {
			slices.SortFunc(out[i:j], func(a, b found) int {
				return cmp.Or(compareIDs(parts[a.part].contents, a.n, parts[b.part].contents, b.n), cmp.Compare(a.part, b.part))
			})
		}
		i = j
	}
	return out[:min(len(out), limit)]
}

// ascending returns bits that are in the order of the numbers.
func ascending(x float32) uint32 {
	bits := math.Float32bits(x + 0) // no negative zero
	if bits>>31 == 1 {
		return ^bits
	}
	return bits | 1<<31
}

// picks keeps what may be among the best of what is offered.
type picks struct {
	limit int
	least float32 // that a score and its margin must reach
	list  []found
	room  int
}

func newPicks(limit int) picks {
	return picks{limit: limit, least: float32(math.Inf(-1)), room: 4 * limit, list: make([]found, 0, min(2*limit, 1024))}
}

// offer takes one whose score and margin reach least.
func (k *picks) offer(f found) {
	k.list = append(k.list, f)
	if len(k.list) >= k.room {
		k.squeeze()
		k.room = max(k.room, 2*len(k.list))
	}
}

// squeeze drops what cannot be among the best.
func (k *picks) squeeze() {
	if len(k.list) <= k.limit {
		return
	}
	sure := make([]float32, len(k.list))
	for i, f := range k.list {
		sure[i] = f.score - f.margin
	}
	k.least = max(k.least, nthLargest(sure, k.limit))
	k.list = slices.DeleteFunc(k.list, func(f found) bool { return f.score+f.margin < k.least })
}

// nthLargest returns the n-th largest of x, whose order it changes. n is from 1 to
// its length.
func nthLargest(x []float32, n int) float32 {
	from, to, want := 0, len(x), n-1 // the wanted place is in x[from:to]
	for to-from > 1 {
		pivot := x[from+(to-from)/2]
		i, j := from, to-1
		for i <= j {
			for x[i] > pivot {
				i++
			}
			for x[j] < pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case want <= j:
			to = j + 1
		case want >= i:
			from = i
		default:
			return x[want]
		}
	}
	return x[want]
}
