package index

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// BM25's constants: k1 and b as fitted on conversations, where a word said twice
// hardly means more than said once, and turns differ in length for no reason.
const (
	k1 = 0.9
	b  = 0.5
)

// relatedShare is what a related word counts of the question's own, where
// candidates are picked.
const relatedShare = 0.4

// words is what a search looks for together: a term of the question, or what is
// related to one.
type words struct {
	related bool
	idf     float64
	df      int
}

// most is the most that the words can add to the measure candidates are picked by,
// before it is divided.
func (w *words) most() float64 {
	if w.related {
		return relatedShare * w.idf * (k1 + 1)
	}
	return w.idf * (k1 + 1)
}

// scoreWords scores the documents of all parts by the terms' blended BM25, and
// returns what it looked for, a term at 2i and what is related to it at 2i+1, with
// the sum of the terms' idf and the share of it which known words have. Scores are
// not divided by the sum. They are whole for all that may be among the
// best limit by words that admits lets pass, and for those marked as wanted before.
func scoreWords(parts []*part, terms, limit int) (list []words, sum, known float64) {
	docs, means := statistics(parts)
	list = make([]words, 2*terms)
	for t := range terms {
		w, others := &list[2*t], &list[2*t+1]
		for _, p := range parts {
			w.df += p.frequency(p.lists[2*t])
			others.df += p.frequency(p.lists[2*t+1])
		}
		w.idf = inverse(docs, w.df)
		// A rare word for a common one is no better found.
		others.related, others.idf = true, min(w.idf, inverse(docs, others.df))
		sum += w.idf
		if w.df > 0 {
			known += w.idf
		}
	}
	if sum == 0 {
		return list, 0, 0
	}
	scoreRareFirst(parts, list, means, limit)
	return list, sum, known / sum
}

// scoreRareFirst adds up the words by what they can add. Once what is left cannot
// lift a document into the best that has nothing yet, only those are scored on
// that can still get there: a name that is in every turn costs little.
func scoreRareFirst(parts []*part, list []words, means [4]lengths, limit int) {
	order, left, added := make([]int, 0, len(list)), 0.0, 0.0
	for i := range list {
		if list[i].df > 0 {
			order, left = append(order, i), left+list[i].most()
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(list[j].most(), list[i].most()) })
	pruned := false
	for _, i := range order {
		w := &list[i]
		if hits := hitsOf(parts); hits >= limit && w.df > 2*hits {
			pruned = narrow(parts, float32(added), float32(left), limit) || pruned
		}
		for _, p := range parts {
			p.score(p.lists[i], w, means, pruned)
		}
		left, added = left-w.most(), added+w.most()
	}
	for _, p := range parts {
		p.pruned, p.most = pruned, float32(added)
	}
}

// narrow leaves in live only the documents that can still be among the best limit,
// when so much is added at most and so much is left, and reports whether it could
// tell.
func narrow(parts []*part, added, left float32, limit int) bool {
	least := leastOfBest(parts, added, limit)
	bound := left + least*1e-5 // sums of float32 stray by less
	if least <= bound {
		return false
	}
	for _, p := range parts {
		p.keep(least - bound)
	}
	return true
}

// leastOfBest returns a measure which at least limit documents have that the search
// may show, 0 if there are not so many. It is close to the largest such.
func leastOfBest(parts []*part, most float32, limit int) float32 {
	const bins = 1024
	var histogram [bins]int32
	scale := bins / most
	for _, p := range parts {
		for i, word := range p.among() {
			for ; word != 0; word &= word - 1 {
				n := int32(i<<6 + bits.TrailingZeros64(word) - lead)
				if x := p.scores[n].byWords(); x > 0 && p.admits(n) {
					histogram[min(bins-1, uint32(x*scale))]++
				}
			}
		}
	}
	count := int32(0)
	for i := bins - 1; i > 0; i-- {
		if count += histogram[i]; int(count) >= limit {
			return float32(i) / scale * (1 - 1e-6)
		}
	}
	return 0
}

// Imagined memories beside the owner's own: a word that is in none of a dozen
// memories is not thereby a rare word, and one that is in three of them not a
// common one. With thousands of memories they do not matter.
const (
	imagined   = 300
	imaginedDF = 1 // in how many of them a word is
)

// inverse is the inverse document frequency of a word, in df of docs documents.
func inverse(docs, df int) float64 {
	n, with := float64(docs)+imagined, float64(df)+imaginedDF
	return math.Log1p((n - with + 0.5) / (with + 0.5))
}

// lengths are mean lengths of a kind of memory.
type lengths struct{ blended, own float64 }

// statistics returns how many documents there are and their mean lengths, over
// all that the owners have, whatever the search is narrowed to.
func statistics(parts []*part) (docs int, means [4]lengths) {
	for kind := fact; kind <= summary; kind++ {
		var count int
		var total, words int64
		for _, p := range parts {
			count += p.count[kind]
			total += p.total[kind]
			words += p.words[kind]
		}
		docs += count
		if count > 0 && words > 0 {
			means[kind] = lengths{float64(total) / float64(count), float64(words) / float64(count)}
		}
	}
	return docs, means
}

// lead is how far the bits and counts of documents are shifted, so that what
// stands before the first document is something, too.
const lead = len(shares)

// windowBits and windowBytes are, for every reach that is not far, the bits and
// bytes of the neighbours and the document itself, which is the one at lead.
var windowBits, windowBytes = func() (b [16]uint64, bytes [16]uint64) {
	for r := range b {
		for i := lead - r&3; i <= lead+r>>2; i++ {
			b[r] |= 1 << i
			bytes[r] |= 0xff << (8 * i)
		}
	}
	return b, bytes
}()

// cover marks the documents for which the postings of a list count.
func (p *part) cover(set []uint64, list []uint32) {
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
		if shift > 64-2*uint32(lead)-1 {
			set[n>>6+1] |= window >> (64 - shift)
		}
	}
}

func mark(set []uint64, n int32) {
	i := uint32(n) + uint32(lead)
	set[i>>6] |= 1 << (i & 63)
}

func marked(set []uint64, n int32) bool {
	i := uint32(n) + uint32(lead)
	return set[i>>6]>>(i&63)&1 == 1
}

// frequency returns in how many blended documents the words of the lists are.
func (p *part) frequency(lists [][]uint32) int {
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

// score adds the words' BM25 to all documents they are in, or to those that are
// live.
func (p *part) score(lists [][]uint32, w *words, means [4]lengths, pruned bool) {
	for _, list := range lists {
		p.fill(list)
	}
	among := p.live
	if !pruned {
		among = p.covered
		for _, list := range lists {
			p.cover(among, list)
		}
	}
	var slope [4]float32
	for kind, mean := range means {
		if mean.blended > 0 {
			slope[kind] = float32(k1 * b / mean.blended)
		}
	}
	idf := float32(w.idf)
	for i, word := range among {
		if word == 0 {
			continue
		}
		if !pruned {
			p.hits[i] |= word
			among[i] = 0
		}
		for ; word != 0; word &= word - 1 {
			n := i<<6 + bits.TrailingZeros64(word) - lead
			sum := p.blended(n)
			if sum == 0 {
				continue
			}
			tf := float32(sum) * (1.0 / unit)
			x := idf * tf * (k1 + 1) / (tf + k1*(1-b) + slope[p.kinds[n]]*float32(p.blen[n]))
			if w.related {
				p.scores[n].related += x
			} else {
				p.scores[n].lexical += x
			}
		}
	}
	for _, list := range lists {
		p.empty(list)
	}
}

// fill sets the counts of a list's documents. What is said more than maxCount
// thirds, in whichever of the lists' words, counts as that.
func (p *part) fill(list []uint32) {
	counts := p.counts[lead:]
	for _, posting := range list {
		n := posting >> 8
		counts[n] = uint8(min(maxCount, uint32(counts[n])+posting&maxCount))
	}
}

func (p *part) empty(list []uint32) {
	if len(list) > len(p.docs)/16 {
		clear(p.counts)
		return
	}
	for _, posting := range list {
		p.counts[posting>>8+uint32(lead)] = 0
	}
}

// The shares of the seven documents of a window, as factors for a multiplication
// whose upper sixteen bits are then the sum of products: the first for documents
// 0, 2, 4 and 6, the second for 1, 3 and 5.
const (
	evenShares = farShare<<48 | nearShare<<32 | nearShare<<16 | farShare
	oddShares  = nearShare<<48 | ownShare<<32 | nearShare<<16
	evenBytes  = 0x00ff00ff00ff00ff
)

// blended returns a document's blended count in units. It is the hot spot of a
// search, and written out for that.
func (p *part) blended(n int) uint32 {
	r := p.near[n]
	if r >= far {
		return p.blendedFar(int32(n))
	}
	window := binary.LittleEndian.Uint64(p.counts[n:]) & windowBytes[r]
	even, odd := window&evenBytes*evenShares>>48, window>>8&evenBytes*oddShares>>48
	return uint32(even + odd)
}

func (p *part) blendedFar(n int32) uint32 {
	if p.near[n] == gone {
		return 0
	}
	counts := p.counts[lead:]
	sum := uint32(counts[n]) * ownShare
	p.around(n, func(m, share int32) { sum += uint32(counts[m]) * uint32(share) })
	return sum
}
