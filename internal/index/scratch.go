package index

import (
	"math/bits"
	"sync"
)

// scratch is the working memory of one search in one shard. Between searches all
// of it is zero.
type scratch struct {
	counts  []uint8  // of the words at hand by document, in thirds
	covered []uint64 // documents that the words at hand count for
	hits    []uint64 // documents with a score
	live    []uint64 // documents that are still scored, once some are not
	wanted  []uint64 // documents that are scored whatever their words
	scores  []score
	own     []float32 // BM25 of the document's own words
	needed  []uint64  // documents whose own is asked for
	session []float32 // by thread
	ranked  []int32   // threads whose session is asked for
}

// score is the blended BM25 of a question's words, and of words related to them.
type score struct{ lexical, related float32 }

// byWords is the measure by which candidates are picked.
func (x score) byWords() float32 { return x.lexical + relatedShare*x.related }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// fit makes room for so many documents and threads.
func (x *scratch) fit(docs, threads int) {
	words := (docs+2*lead)/64 + 2
	if cap(x.scores) < docs || x.covered == nil {
		room := docs + docs/8
		set := (room+2*lead)/64 + 2
		*x = scratch{
			session: x.session,
			counts:  make([]uint8, room+2*lead+8), scores: make([]score, room), own: make([]float32, room),
			covered: make([]uint64, set), hits: make([]uint64, set), live: make([]uint64, set), wanted: make([]uint64, set), needed: make([]uint64, set),
		}
	}
	if len(x.session) < threads {
		x.session = make([]float32, threads+threads/8)
	}
	x.counts, x.scores, x.own = x.counts[:docs+2*lead+8], x.scores[:docs], x.own[:docs]
	x.covered, x.hits, x.live, x.wanted, x.needed = x.covered[:words], x.hits[:words], x.live[:words], x.wanted[:words], x.needed[:words]
}

// reset makes everything zero again.
func (x *scratch) reset() {
	for i := range x.hits {
		each(x.hits[i]|x.wanted[i]|x.live[i], i, func(n int32) { x.scores[n] = score{} })
		each(x.needed[i], i, func(n int32) { x.own[n] = 0 })
	}
	for _, t := range x.ranked {
		x.session[t] = 0
	}
	x.ranked = x.ranked[:0]
	clear(x.hits)
	clear(x.live)
	clear(x.wanted)
	clear(x.needed)
}

// each calls yield for the documents whose bits are in word i of a set.
func each(word uint64, i int, yield func(n int32)) {
	for ; word != 0; word &= word - 1 {
		yield(int32(i<<6 + bits.TrailingZeros64(word) - lead))
	}
}

// hitsOf returns how many documents have a score.
func hitsOf(parts []*part) int {
	hits := 0
	for _, p := range parts {
		for _, word := range p.hits {
			hits += bits.OnesCount64(word)
		}
	}
	return hits
}

// among returns the documents that may be among the best.
func (p *part) among() []uint64 {
	if p.pruned {
		return p.live
	}
	return p.hits
}

// keep leaves live the hits whose measure is least or more, and those wanted.
func (p *part) keep(least float32) {
	for i, word := range p.hits {
		live := p.wanted[i]
		each(word, i, func(n int32) {
			if p.scores[n].byWords() >= least {
				j := uint32(n) + uint32(lead)
				live |= 1 << (j & 63)
			}
		})
		p.live[i] = live
	}
}
