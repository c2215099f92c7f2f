package index

import (
	"encoding/binary"
	"math/bits"

	"github.com/loci-memory/loci/internal/vector"
)

// leadPadding is the number of unused entries before the first document in bit sets and counts.
const predecessors = len(shares)

// windowBits and windowBytes map a reach except reachFar to masks of a document (position
// leadPadding) and its neighbours: one bit or one byte per document.
var windowBits, windowBytes = func() (b [16]uint64, bytes [16]uint64) {
	for r := range b {
		for i := predecessors - r&3; i <= predecessors+r>>2; i++ {
			b[r] |= 1 << i
			bytes[r] |= 0xff << (8 * i)
		}
	}
	return b, bytes
}()

// markCovered marks the documents whose blended count includes postings of the list.
func (p *segment) cover(set []uint64, list []uint32) {
	for _, posting := range list {
		n := posting >> 8
		r := p.near[n]
		if r >= far {
			if r == far {
				mark(set, int32(n))
				p.around(int32(n), func(m, _ int32) { mark(set, m) })
			}
			continue
		}
		window, shift := windowBits[r], n&63
		set[n>>6] |= window << shift
		if shift > 64-2*uint32(predecessors)-1 {
			set[n>>6+1] |= window >> (64 - shift)
		}
	}
}

func mark(set []uint64, n int32) {
	i := uint32(n) + uint32(predecessors)
	set[i>>6] |= 1 << (i & 63)
}

func marked(set []uint64, n int32) bool {
	i := uint32(n) + uint32(predecessors)
	return set[i>>6]>>(i&63)&1 == 1
}

// documentFrequency returns how many blended documents contain at least one term of the lists.
func (p *segment) frequency(lists [][]uint32) int {
	if len(lists) == 0 {
		return 0
	}
	for _, list := range lists {
		p.cover(p.covered, list)
	}
	df := 0
	for i, word := range p.covered {
		df += bits.OnesCount64(word)
		p.covered[i] = 0
	}
	return df
}

// denseThreshold is the number of documents per 64-bit word of a bit set above which scoring all 64
// documents together is cheaper, although some of the scores are not needed.
const denseThreshold = 5

// addScores adds the terms' BM25 scores to all documents that contain one of them. After pruning it
// scores the contenders only.
func (p *segment) score(lists [][]uint32, w *words, means [4]lengths) {
	for _, list := range lists {
		p.fill(list)
	}
	among := p.live
	if !p.pruned {
		among = p.covered
		for _, list := range lists {
			p.cover(among, list)
		}
	}
	blend := bm25(1.0/unit, float32(w.idf), means, func(mean lengths) float64 { return mean.blended })
	blend.Shares = [...]uint16{ownShare, nearShare, nearShare, farShare}
	scores := p.lexical
	if w.related {
		scores, p.relates = p.related, p.relates || len(lists) > 0
	}
	for i, word := range among {
		if word == 0 {
			continue
		}
		if !p.pruned {
			p.hits[i] |= word
			among[i] = 0
		}
		if first := i<<6 - predecessors; bits.OnesCount64(word) >= denseThreshold && first >= 0 && first+vector.BlendDocuments <= len(p.docs) {
			word &= vector.AddBlend(&blend, scores[first:], p.counts[first:], p.near[first:], p.kinds[first:], p.blen[first:])
		}
		for ; word != 0; word &= word - 1 {
			n := i<<6 + bits.TrailingZeros64(word) - predecessors
			if sum := p.blended(n); sum > 0 {
				scores[n] += blend.Of(sum, uint8(p.kinds[n]), p.blen[n])
			}
		}
	}
	for _, list := range lists {
		p.empty(list)
	}
}

func (p *segment) fill(list []uint32) {
	counts := p.counts[predecessors:]
	for _, posting := range list {
		n := posting >> 8
		counts[n] = uint8(min(maxCount, uint32(counts[n])+posting&maxCount))
	}
}

func (p *segment) empty(list []uint32) {
	if len(list) > len(p.docs)/16 {
		clear(p.counts)
		return
	}
	for _, posting := range list {
		p.counts[posting>>8+uint32(predecessors)] = 0
	}
}

// Shares of the seven documents of a window, as factors of a multiplication whose upper sixteen
// bits are the sum of the products. evenShares is for documents 0, 2, 4 and 6, oddShares for
// documents 1, 3 and 5.
const (
	evenShares = farShare<<48 | nearShare<<32 | nearShare<<16 | farShare
	oddShares  = nearShare<<48 | ownShare<<32 | nearShare<<16
	evenBytes  = 0x00ff00ff00ff00ff
)

// blendedCount returns a document's blended count in units of 1/180 occurrence.
func (p *segment) blended(n int) uint32 {
	r := p.near[n]
	if r >= far {
		return p.blendedFar(int32(n))
	}
	window := binary.LittleEndian.Uint64(p.counts[n:]) & windowBytes[r]
	even, odd := window&evenBytes*evenShares>>48, window>>8&evenBytes*oddShares>>48
	return uint32(even + odd)
}

func (p *segment) blendedFar(n int32) uint32 {
	if p.near[n] == gone {
		return 0
	}
	counts := p.counts[predecessors:]
	sum := uint32(counts[n]) * ownShare
	p.around(n, func(m, share int32) { sum += uint32(counts[m]) * uint32(share) })
	return sum
}
