package index

import (
	"encoding/binary"
	"math/bits"

	"github.com/loci-memory/loci/internal/vector"
)

// leadPadding is the number of unused entries before the first document in bit sets and in docCounts,
// so that the neighbours before document 0 need no check.
const leadPadding = len(neighbourShares)

// windowBits and windowBytes map a reach below reachFar to a mask in which the bits or bytes of the document,
// at position leadPadding, and of its neighbours are set.
var windowBits, windowBytes = func() (b [16]uint64, bytes [16]uint64) {
	for r := range b {
		for i := leadPadding - r&3; i <= leadPadding+r>>2; i++ {
			b[r] |= 1 << i
			bytes[r] |= 0xff << (8 * i)
		}
	}
	return b, bytes
}()

// markCovered marks in bitset the documents of the postings and their neighbours.
func (p *segment) markCovered(bitset []uint64, postings []uint32) {
	for _, posting := range postings {
		n := posting >> 8
		r := p.reaches[n]
		if r >= reachFar {
			if r == reachFar {
				markDoc(bitset, int32(n))
				p.eachNeighbour(int32(n), func(m, _ int32) { markDoc(bitset, m) })
			}
			continue
		}
		window, shift := windowBits[r], n&63
		bitset[n>>6] |= window << shift
		if shift > 64-2*uint32(leadPadding)-1 {
			bitset[n>>6+1] |= window >> (64 - shift)
		}
	}
}

func markDoc(bitset []uint64, n int32) {
	i := uint32(n) + uint32(leadPadding)
	bitset[i>>6] |= 1 << (i & 63)
}

func isMarked(bitset []uint64, n int32) bool {
	i := uint32(n) + uint32(leadPadding)
	return bitset[i>>6]>>(i&63)&1 == 1
}

// documentFrequency returns how many documents contain a term of the lists, themselves or in a neighbour.
func (p *segment) documentFrequency(lists [][]uint32) int {
	if len(lists) == 0 {
		return 0
	}
	for _, list := range lists {
		p.markCovered(p.coveredDocs, list)
	}
	df := 0
	for i, word := range p.coveredDocs {
		df += bits.OnesCount64(word)
		p.coveredDocs[i] = 0
	}
	return df
}

// denseThreshold is the number of marked documents per 64-bit word of a bit set from which scoring
// all 64 documents together is cheaper than scoring only the marked ones.
const denseThreshold = 5

// addScores adds the terms' BM25 scores to all documents that contain one of them. After pruning it
// scores the contenders only.
func (p *segment) addScores(lists [][]uint32, w *termGroup, means [4]meanLengths) {
	for _, list := range lists {
		p.fillCounts(list)
	}
	among := p.contenders
	if !p.pruned {
		among = p.coveredDocs
		for _, list := range lists {
			p.markCovered(among, list)
		}
	}
	blend := newBM25(1.0/blendedUnit, float32(w.idf), means, func(mean meanLengths) float64 { return mean.blended })
	blend.Shares = [...]uint16{ownShare, nearShare, nearShare, farShare}
	scores := p.lexicalScores
	if w.isRelated {
		scores, p.hasRelated = p.relatedScores, p.hasRelated || len(lists) > 0
	}
	for i, word := range among {
		if word == 0 {
			continue
		}
		if !p.pruned {
			p.scoredDocs[i] |= word
			among[i] = 0
		}
		if first := i<<6 - leadPadding; bits.OnesCount64(word) >= denseThreshold && first >= 0 && first+vector.BlendDocuments <= len(p.docs) {
			word &= vector.AddBlendedScores(&blend, scores[first:], p.docCounts[first:], p.reaches[first:], p.kinds[first:], p.blendedLengths[first:])
		}
		for ; word != 0; word &= word - 1 {
			n := i<<6 + bits.TrailingZeros64(word) - leadPadding
			if sum := p.blendedCount(n); sum > 0 {
				scores[n] += blend.Score(sum, uint8(p.kinds[n]), p.blendedLengths[n])
			}
		}
	}
	for _, list := range lists {
		p.clearCounts(list)
	}
}

func (p *segment) fillCounts(list []uint32) {
	counts := p.docCounts[leadPadding:]
	for _, posting := range list {
		n := posting >> 8
		counts[n] = uint8(min(maxCount, uint32(counts[n])+posting&maxCount))
	}
}

func (p *segment) clearCounts(list []uint32) {
	if len(list) > len(p.docs)/16 {
		clear(p.docCounts)
		return
	}
	for _, posting := range list {
		p.docCounts[posting>>8+uint32(leadPadding)] = 0
	}
}

// evenShares and oddShares are the weights of documents 0, 2, 4, 6 and 1, 3, 5 of a window, in lanes
// of 16 bits and in reverse order. The product of four counts in such lanes (as selected by evenBytes)
// and the weights has the weighted sum of the counts in its upper lane.
const (
	evenShares = farShare<<48 | nearShare<<32 | nearShare<<16 | farShare
	oddShares  = nearShare<<48 | ownShare<<32 | nearShare<<16
	evenBytes  = 0x00ff00ff00ff00ff
)

// blendedCount returns the weighted sum of the counts in document n and in its neighbours, in units
// of 1/180 occurrence.
func (p *segment) blendedCount(n int) uint32 {
	r := p.reaches[n]
	if r >= reachFar {
		return p.distantBlendedCount(int32(n))
	}
	window := binary.LittleEndian.Uint64(p.docCounts[n:]) & windowBytes[r]
	even, odd := window&evenBytes*evenShares>>48, window>>8&evenBytes*oddShares>>48
	return uint32(even + odd)
}

func (p *segment) distantBlendedCount(n int32) uint32 {
	if p.reaches[n] == reachDeleted {
		return 0
	}
	counts := p.docCounts[leadPadding:]
	sum := uint32(counts[n]) * ownShare
	p.eachNeighbour(n, func(m, share int32) { sum += uint32(counts[m]) * uint32(share) })
	return sum
}
