package index

import (
	"iter"
	"math/bits"
	"slices"
	"sync"

	"github.com/loci-memory/loci/internal/vector"
)

// scratch is the working memory of one search in one shard. Between searches all fields are zero,
// except those described as undefined.
type scratch struct {
	counts  []uint8   // occurrences of the current group's terms by document, in thirds
	covered []uint64  // documents that the current group contributes to
	hits    []uint64  // documents with a score
	live    []uint64  // documents still scored after pruning
	wanted  []uint64  // documents picked by vector, scored whether or not they contain a term
	lexical []float32 // blended BM25 of the question's terms, by document
	related []float32 // blended BM25 of terms related to the question's terms, by document
	own     []float32 // BM25 of the document's own words, by document
	needed  []uint64  // documents whose own score is requested
	session []float32 // session score by conversation
	ranked  []int32   // conversations whose session score is requested

	cosines  []float32 // cosines of vectorPicks; undefined for other documents
	measured []float32 // working memory for wordScores; undefined between searches
	measures []float32 // result of computeWordScores, for scored blocks
	above    []int32   // documents of the current block above a threshold; undefined between blocks
}

var scratches = sync.Pool{New: func() any { return &scratch{above: make([]int32, 0, blockDocs)} }}

// grow resizes the fields for the given numbers of documents and conversations.
func (x *scratch) grow(docs, threads int) {
	words := (docs+2*predecessors)/64 + 2
	if cap(x.lexical) < docs || x.covered == nil {
		room := docs + docs/8
		floats := func() []float32 { return make([]float32, room) }
		set := func() []uint64 { return make([]uint64, (room+2*predecessors)/64+2) }
		*x = scratch{
			session: x.session, measured: x.measured, above: x.above, counts: make([]uint8, room+2*predecessors+8),
			lexical: floats(), related: floats(), own: floats(), cosines: floats(),
			covered: set(), hits: set(), live: set(), wanted: set(), needed: set(),
		}
	}
	if len(x.session) < threads {
		x.session = make([]float32, threads+threads/8)
	}
	x.counts = x.counts[:docs+2*predecessors+8]
	x.lexical, x.related, x.own, x.cosines = x.lexical[:docs], x.related[:docs], x.own[:docs], x.cosines[:docs]
	x.covered, x.hits, x.live, x.wanted, x.needed = x.covered[:words], x.hits[:words], x.live[:words], x.wanted[:words], x.needed[:words]
}

// reset clears everything that the search has used.
func (x *scratch) reset() {
	for i := range x.hits { // for many words it is faster to clear everything
		from, to := min(max(0, i<<6-predecessors), len(x.own)), min((i+1)<<6-predecessors, len(x.own))
		if x.hits[i]|x.wanted[i]|x.live[i] != 0 {
			clear(x.lexical[from:to])
			clear(x.related[from:to])
		}
		if x.needed[i] != 0 {
			clear(x.own[from:to])
		}
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

// wordScore returns the word score of document n for picking candidates.
func (x *scratch) byWords(n int32) float32 { return x.lexical[n] + relatedShare*x.related[n] }

func hitsOf(parts []*segment) int {
	hits := 0
	for _, p := range parts {
		for _, word := range p.hits {
			hits += bits.OnesCount64(word)
		}
	}
	return hits
}

// blockDocs is how many documents are compared with a threshold together.
const blockDocs = 512

// scoredBlocks yields the ranges [from, to) of documents that may be among the best.
func (p *segment) scored() iter.Seq2[int, int] {
	among := p.hits
	if p.pruned {
		among = p.live
	}
	return func(yield func(from, to int) bool) {
		for from := 0; from < len(p.docs); from += blockDocs {
			to := min(from+blockDocs, len(p.docs))
			if !empty(among[from>>6:(to-1+predecessors)>>6+1]) && !yield(from, to) {
				return
			}
		}
	}
}

// computeWordScores computes [scratch.wordScore] of the documents in scored blocks.
func (p *segment) measure() {
	if !p.relates {
		p.measures = p.lexical
		return
	}
	p.measured = slices.Grow(p.measured[:0], len(p.docs))[:len(p.docs)]
	for from, to := range p.scored() {
		for n := from; n < to; n++ {
			p.measured[n] = p.byWords(int32(n))
		}
	}
	p.measures = p.measured
}

// blockDocsAbove returns the documents of a block, relative to its start, with a score of at least
// minScore, which must be above 0. The result is valid until the next call.
func (p *segment) reaching(from, to int, least float32) []int32 {
	p.above = vector.Above(p.measures[from:to], least, p.above)
	return p.above
}

func empty(set []uint64) bool {
	for _, word := range set {
		if word != 0 {
			return false
		}
	}
	return true
}

// keepContenders sets contenders to the hits with a score of at least minScore, and the
// vectorPicks.
func (p *segment) keep(least float32) {
	next := p.covered
	copy(next, p.wanted)
	for from, to := range p.scored() {
		for _, i := range p.reaching(from, to, least) {
			mark(next, int32(from)+i)
		}
	}
	clear(p.live)
	p.live, p.covered, p.pruned = next, p.live, true
}
