package index

import "math"

// BM25's constants: k1 and b as fitted on conversations, where a word said twice
// hardly means more than said once, and turns differ in length for no reason.
const (
	k1 = 0.9
	b  = 0.5
)

// scratch is the working memory of one search in one shard. Between searches its
// sums are zero.
type scratch struct {
	sum     []int32   // blended thirds of the term at hand, in units
	lexical []float32 // blended BM25
	own     []float32 // the document's own
	related []float32 // blended BM25 of terms related to the question's
	touched []int32   // documents with a sum
	hits    []int32   // documents with a score
	top3    [][3]float32
	ranked  []int32 // threads with a top3
	cosine  []float32
}

func (x *scratch) fit(docs, threads int) {
	if len(x.sum) < docs {
		n := docs + docs/4 + 64
		x.sum, x.lexical, x.own, x.related = make([]int32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	}
	if len(x.top3) < threads {
		x.top3 = make([][3]float32, threads+threads/4+16)
	}
}

// reset makes the sums zero again.
func (x *scratch) reset() {
	for _, n := range x.hits {
		x.lexical[n], x.own[n], x.related[n] = 0, 0, 0
	}
	for _, t := range x.ranked {
		x.top3[t] = [3]float32{}
	}
	x.hits, x.ranked, x.touched = x.hits[:0], x.ranked[:0], x.touched[:0]
}

// part is a shard in a search, locked for reading.
type part struct {
	*contents
	*scratch
	lists   [][]uint32   // postings of the question's terms, nil for unknown ones
	synonym [][][]uint32 // postings of the terms related to each
	allowed []bool       // by scope
}

// scoreWords fills lexical, own and related of every part, divided by the sum of
// idf, and returns the share of that sum which known words have.
func scoreWords(parts []*part, terms int) (known float64) {
	docs, means := statistics(parts)
	var sumIDF, knownIDF float64
	for t := range terms {
		df, others := 0, 0
		for _, p := range parts {
			p.blend(p.lists[t])
			df += len(p.touched)
		}
		idf := inverse(docs, df)
		sumIDF += idf
		if df > 0 {
			knownIDF += idf
		}
		for _, p := range parts {
			p.saturate(p.lexical, float32(idf), means)
			p.saturateOwn(p.lists[t], float32(idf), means)
			p.blend(p.synonym[t]...)
			others += len(p.touched)
		}
		// A rare word for a common one is no better found.
		for _, p := range parts {
			p.saturate(p.related, float32(min(idf, inverse(docs, others))), means)
		}
	}
	if sumIDF == 0 {
		return 0
	}
	for _, p := range parts {
		for _, n := range p.hits {
			p.lexical[n] /= float32(sumIDF)
			p.own[n] /= float32(sumIDF)
			p.related[n] /= float32(sumIDF)
		}
	}
	return knownIDF / sumIDF
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

// blend spreads the postings of terms, taken as one, over the turns they count
// for.
func (p *part) blend(lists ...[]uint32) {
	p.touched = p.touched[:0]
	for _, list := range lists {
		p.spread(list)
	}
}

// spread is the hot loop of a search, and written out for that.
func (p *part) spread(list []uint32) {
	sum, touched, link := p.sum, p.touched, p.link
	for _, posting := range list {
		n, count := int32(posting>>8), int32(posting&maxCount)
		if p.kinds[n] == 0 {
			continue
		}
		if sum[n] == 0 {
			touched = append(touched, n)
		}
		sum[n] += count * ownShare
		prev, next := link[n].prev, link[n].next
		for i := 0; i < len(shares) && prev != none; i++ {
			if sum[prev] == 0 {
				touched = append(touched, prev)
			}
			sum[prev] += count * shares[i]
			prev = link[prev].prev
		}
		for i := 0; i < len(shares) && next != none; i++ {
			if sum[next] == 0 {
				touched = append(touched, next)
			}
			sum[next] += count * shares[i]
			next = link[next].next
		}
	}
	p.touched = touched
}

// saturate turns the sums of a term into score, and makes them zero again.
func (p *part) saturate(score []float32, idf float32, means [4]lengths) {
	var slope [4]float32
	for kind, mean := range means {
		if mean.blended > 0 {
			slope[kind] = float32(k1 * b / mean.blended)
		}
	}
	for _, n := range p.touched {
		tf := float32(p.sum[n]) * (1.0 / unit)
		p.sum[n] = 0
		if p.lexical[n] == 0 && p.related[n] == 0 {
			p.hits = append(p.hits, n)
		}
		score[n] += idf * tf * (k1 + 1) / (tf + k1*(1-b) + slope[p.kinds[n]]*float32(p.blen[n]))
	}
}

func (p *part) saturateOwn(list []uint32, idf float32, means [4]lengths) {
	var slope [4]float32
	for kind, mean := range means {
		if mean.own > 0 {
			slope[kind] = float32(k1 * b / mean.own)
		}
	}
	for _, posting := range list {
		n := int32(posting >> 8)
		if p.kinds[n] == 0 {
			continue
		}
		tf := float32(posting&maxCount) * (1.0 / occurrence)
		p.own[n] += idf * tf * (k1 + 1) / (tf + k1*(1-b) + slope[p.kinds[n]]*float32(p.olen[n]))
	}
}

// relatedShare is what a related word counts of the question's own, where
// candidates are picked.
const relatedShare = 0.4

// byWords is the measure by which candidates are picked.
func (p *part) byWords(n int32) float32 { return p.lexical[n] + relatedShare*p.related[n] }

// rankThreads keeps the three best own scores of each conversation's turns.
func (p *part) rankThreads() {
	for _, n := range p.hits {
		t, x := p.threadOf[n], p.own[n]
		if x == 0 || t == none {
			continue
		}
		top := &p.top3[t]
		if top[0] == 0 {
			p.ranked = append(p.ranked, t)
		}
		switch {
		case x > top[0]:
			top[0], top[1], top[2] = x, top[0], top[1]
		case x > top[1]:
			top[1], top[2] = x, top[1]
		case x > top[2]:
			top[2] = x
		}
	}
}

// peak returns by how much a turn's own score exceeds the best within two turns.
func (p *part) peak(n int32) float32 {
	var best float32
	prev, next := p.link[n].prev, p.link[n].next
	for range 2 {
		if prev != none {
			best = max(best, p.own[prev])
			prev = p.link[prev].prev
		}
		if next != none {
			best = max(best, p.own[next])
			next = p.link[next].next
		}
	}
	return max(0, p.own[n]-best)
}
