package index

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// defaultLimit is the number of candidates for a search without a limit. Recall rarely selects a memory
// beyond the best hundred.
const defaultLimit = 200

// segment is a shard during a search, locked for reading, with the working memory of the search.
type segment struct {
	*contents
	*scratch
	filter        filter
	postingLists  [][][]uint32 // [2i]: postings of the question's term i; [2i+1]: of the terms related to term i
	questionTerms []string     // the question's terms
	pruned        bool         // true if from now on only the contenders are scored

	hasRelated bool // true if a document contains a term related to one of the question
}

// searchState is the working memory of one search, in addition to that of its segments.
type searchState struct {
	wordPicks    topPicks
	vectorSearch vectorSearch
	mergeBuffer  []scoredDoc
	sorter       sorter
	idBuffer     []byte
}

var statePool = sync.Pool{New: func() any { return new(searchState) }}

// activeSearches counts the searches in progress. A search uses more processors if it is the only one.
var activeSearches atomic.Int32

// search finds candidates in shards, which the caller has locked for reading.
func search(ctx context.Context, shards []*shard, s memory.Search) ([]memory.Candidate, error) {
	if len(shards) == 0 {
		return nil, nil
	}
	activeSearches.Add(1)
	defer activeSearches.Add(-1)
	if s.Limit <= 0 {
		s.Limit = defaultLimit
	}
	segments := make([]*segment, len(shards))
	for i, sh := range shards {
		segments[i] = openSegment(&sh.contents, &s)
	}
	d := statePool.Get().(*searchState)
	out, err := d.search(ctx, segments, &s)
	d.release(segments)
	return out, err
}

func (d *searchState) search(ctx context.Context, segments []*segment, s *memory.Search) ([]memory.Candidate, error) {
	d.vectorSearch.reset()
	defer d.vectorSearch.wait() // also after a panic, since scanners read data that the locks guard
	if !s.WordsFirst {
		d.vectorSearch.start(segments, s)
	}
	if d.vectorSearch.hasOneScanner() {
		d.vectorSearch.finish(&d.sorter)
	}
	terms := uniqueTerms(text.Terms(s.Text))
	for _, p := range segments {
		p.findPostings(terms)
	}
	addCharacterPostings(segments, s.Text, terms)
	var misspelt []memory.Misspelt
	if !s.WordsOnly { // with WordsOnly, s.Text is a memory's text and not a question
		misspelt = correctMisspelt(segments, s.Text, terms)
	}
	offloaded := offloadedPicks(segments, s)
	d.wordPicks.reset(s.Limit, math.SmallestNonzeroFloat32)
	weight := func(i int) float64 {
		if w, ok := s.TermWeights[terms[i]]; ok {
			return float64(w)
		}
		return 1
	}
	groups, sum, coverage := scoreWords(segments, len(terms), weight, &d.wordPicks, func() { d.vectorSearch.finish(&d.sorter) })
	words := d.sorter.sort(segments, pickByWords(segments, &d.wordPicks), s.Limit)
	if s.WordsFirst && len(words) < s.Limit {
		d.vectorSearch.start(segments, s)
	}
	near := d.vectorSearch.finish(&d.sorter)
	if len(offloaded) > 0 && (!s.WordsFirst || len(words) < s.Limit) {
		near = d.sorter.sort(segments, append(offloaded, near...), vectorPickLimit(s))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.PreferVectors && len(near) > 0 {
		d.vectorSearch.rescorer.rescore(segments, words, s.Vector)
		words, near = near, slices.DeleteFunc(words, func(f scoredDoc) bool {
			p := segments[f.segmentIndex]
			return f.cosine != 0 || p.docs[f.doc].row == offloadedRow && !p.ignoresVectors
		})
	}
	list := d.mergePicks(segments, words, near, s.Limit)
	computeOwnScores(segments, groups, list)
	out := d.candidates(segments, list, s, float32(max(sum, math.SmallestNonzeroFloat32)), float32(coverage))
	if misspelt != nil {
		for i := range out {
			out[i].Misspelt = misspelt
		}
	}
	return out, nil
}

// release returns the working memory for reuse. It is not called after a panic, which may leave the
// memory inconsistent.
func (d *searchState) release(segments []*segment) {
	for _, p := range segments {
		p.reset()
		scratchPool.Put(p.scratch)
	}
	d.vectorSearch.dropReferences()
	statePool.Put(d)
}

func uniqueTerms(terms []string) []string {
	out := terms[:0]
	for _, t := range terms {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

func openSegment(c *contents, s *memory.Search) *segment {
	p := &segment{contents: c, scratch: scratchPool.Get().(*scratch), filter: newFilter(c, s)}
	p.grow(len(c.docs), len(c.conversationTurns))
	return p
}

// findPostings finds the postings of the question's terms and of their related terms.
func (p *segment) findPostings(terms []string) {
	p.questionTerms, p.postingLists = terms, make([][][]uint32, 2*len(terms))
	add := func(i int, term string) {
		if id, ok := p.terms[term]; ok {
			p.postingLists[i] = append(p.postingLists[i], p.postings[id])
		}
	}
	for i, t := range terms {
		add(2*i, t)
		for _, other := range text.Synonyms(t) {
			if !slices.Contains(terms, other) {
				add(2*i+1, other)
			}
		}
	}
}

// mergePicks merges two lists of picks, best first, without duplicates. It reserves up to a quarter of
// limit for second, and marks the result in ownScoreRequests.
func (d *searchState) mergePicks(segments []*segment, first, second []scoredDoc, limit int) []scoredDoc {
	if len(second) == 0 {
		return first
	}
	keep := min(len(first), limit-min(limit/4, len(second)))
	out := d.mergeBuffer[:0]
	for _, list := range [][]scoredDoc{first[:keep], second, first[keep:]} {
		for _, f := range list {
			if picked := segments[f.segmentIndex].ownScoreRequests; len(out) < limit && !isMarked(picked, f.doc) {
				markDoc(picked, f.doc)
				out = append(out, f)
			}
		}
	}
	d.mergeBuffer = out
	return out
}
