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
	docCounts        []uint8   // occurrences of the current group's terms by document, in thirds
	coveredDocs      []uint64  // documents to whose score the current group contributes
	scoredDocs       []uint64  // bit set of the documents with a score
	contenders       []uint64  // after pruning: documents that can still be among the best, and vectorPicks
	vectorPicks      []uint64  // documents picked by vector, scored whether or not they contain a term
	lexicalScores    []float32 // blended BM25 of the question's terms, by document
	relatedScores    []float32 // blended BM25 of terms related to the question's terms, by document
	ownScores        []float32 // BM25 of the document's own words, by document
	ownScoreRequests []uint64  // documents whose own score is requested
	sessionScores    []float32 // by conversation: mean of the best ownScores; -1 means requested
	sessionRequests  []int32   // conversations whose session score is requested

	cosines        []float32 // cosines of vectorPicks; undefined for other documents
	scoreBuffer    []float32 // working memory for wordScores; undefined between searches
	wordScores     []float32 // result of computeWordScores, for scored blocks
	aboveThreshold []int32   // documents of the current block above a threshold; undefined between blocks
}

var scratchPool = sync.Pool{New: func() any { return &scratch{aboveThreshold: make([]int32, 0, blockDocs)} }}

// grow resizes the fields for the given numbers of documents and conversations.
func (x *scratch) grow(docs, conversations int) {
	words := (docs+2*leadPadding)/64 + 2
	if cap(x.lexicalScores) < docs || x.coveredDocs == nil {
		room := docs + docs/8
		floats := func() []float32 { return make([]float32, room) }
		set := func() []uint64 { return make([]uint64, (room+2*leadPadding)/64+2) }
		*x = scratch{
			sessionScores: x.sessionScores, scoreBuffer: x.scoreBuffer, aboveThreshold: x.aboveThreshold, docCounts: make([]uint8, room+2*leadPadding+8),
			lexicalScores: floats(), relatedScores: floats(), ownScores: floats(), cosines: floats(),
			coveredDocs: set(), scoredDocs: set(), contenders: set(), vectorPicks: set(), ownScoreRequests: set(),
		}
	}
	if len(x.sessionScores) < conversations {
		x.sessionScores = make([]float32, conversations+conversations/8)
	}
	x.docCounts = x.docCounts[:docs+2*leadPadding+8]
	x.lexicalScores, x.relatedScores, x.ownScores, x.cosines = x.lexicalScores[:docs], x.relatedScores[:docs], x.ownScores[:docs], x.cosines[:docs]
	x.coveredDocs, x.scoredDocs, x.contenders, x.vectorPicks, x.ownScoreRequests = x.coveredDocs[:words], x.scoredDocs[:words], x.contenders[:words], x.vectorPicks[:words], x.ownScoreRequests[:words]
}

// reset sets all entries that a search has changed to zero.
func (x *scratch) reset() {
	for i := range x.scoredDocs { // each 64-bit word of a bit set covers 64 documents
		from, to := min(max(0, i<<6-leadPadding), len(x.ownScores)), min((i+1)<<6-leadPadding, len(x.ownScores))
		if x.scoredDocs[i]|x.vectorPicks[i]|x.contenders[i] != 0 {
			clear(x.lexicalScores[from:to])
			clear(x.relatedScores[from:to])
		}
		if x.ownScoreRequests[i] != 0 {
			clear(x.ownScores[from:to])
		}
	}
	for _, t := range x.sessionRequests {
		x.sessionScores[t] = 0
	}
	x.sessionRequests = x.sessionRequests[:0]
	clear(x.scoredDocs)
	clear(x.contenders)
	clear(x.vectorPicks)
	clear(x.ownScoreRequests)
}

// wordScore returns the score of document n by the question's words and their related words.
func (x *scratch) wordScore(n int32) float32 {
	return x.lexicalScores[n] + relatedShare*x.relatedScores[n]
}

func countScored(segments []*segment) int {
	hits := 0
	for _, p := range segments {
		for _, word := range p.scoredDocs {
			hits += bits.OnesCount64(word)
		}
	}
	return hits
}

// blockDocs is the number of documents in a block. The scores of a block are compared with a minimum
// together.
const blockDocs = 512

// scoredBlocks yields the blocks [from, to) with at least one document that may be among the best.
func (p *segment) scoredBlocks() iter.Seq2[int, int] {
	among := p.scoredDocs
	if p.pruned {
		among = p.contenders
	}
	return func(yield func(from, to int) bool) {
		for from := 0; from < len(p.docs); from += blockDocs {
			to := min(from+blockDocs, len(p.docs))
			if !isEmpty(among[from>>6:(to-1+leadPadding)>>6+1]) && !yield(from, to) {
				return
			}
		}
	}
}

// computeWordScores computes [scratch.wordScore] of the documents in scored blocks.
func (p *segment) computeWordScores() {
	if !p.hasRelated {
		p.wordScores = p.lexicalScores
		return
	}
	p.scoreBuffer = slices.Grow(p.scoreBuffer[:0], len(p.docs))[:len(p.docs)]
	for from, to := range p.scoredBlocks() {
		for n := from; n < to; n++ {
			p.scoreBuffer[n] = p.wordScore(int32(n))
		}
	}
	p.wordScores = p.scoreBuffer
}

// blockDocsAbove returns the documents of a block with a score of at least minScore, which must be above
// 0, as offsets from the block's start. The result is valid until the next call.
func (p *segment) blockDocsAbove(from, to int, minScore float32) []int32 {
	p.aboveThreshold = vector.Above(p.wordScores[from:to], minScore, p.aboveThreshold)
	return p.aboveThreshold
}

func isEmpty(bitset []uint64) bool {
	for _, word := range bitset {
		if word != 0 {
			return false
		}
	}
	return true
}

// keepContenders sets contenders to the documents with a score of at least minScore and the vectorPicks.
func (p *segment) keepContenders(minScore float32) {
	next := p.coveredDocs
	copy(next, p.vectorPicks)
	for from, to := range p.scoredBlocks() {
		for _, i := range p.blockDocsAbove(from, to, minScore) {
			markDoc(next, int32(from)+i)
		}
	}
	clear(p.contenders)
	p.contenders, p.coveredDocs, p.pruned = next, p.contenders, true
}
