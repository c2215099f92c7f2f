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

// defaultLimit exceeds what recall needs: ranking rarely selects beyond the best hundred.
const defaultLimit = 200

// segment is a shard that is locked for reading during a search.
type segment struct {
	*contents
	*scratch
	filter filter
	lists  [][][]uint32 // at 2i the postings of the question's term i, at 2i+1 of its related terms
	asked  []string     // the question's terms
	pruned bool         // true if only the scores of contenders are complete

	relates bool // true if at least one term has related terms
}

// searchState is the working memory of one search, in addition to that of its segments.
type searchState struct {
	words   topPicks
	vectors vectorSearch
	united  []found
	sorter  sorter
	ids     []byte
}

var statePool = sync.Pool{New: func() any { return new(searchState) }}

// activeSearches counts the searches in progress, because a single search may use the whole machine.
var searching atomic.Int32

// search finds candidates in shards, which the caller has locked for reading.
func search(ctx context.Context, shards []*shard, s memory.Search) ([]memory.Candidate, error) {
	if len(shards) == 0 {
		return nil, nil
	}
	searching.Add(1)
	defer searching.Add(-1)
	if s.Limit <= 0 {
		s.Limit = defaultLimit
	}
	parts := make([]*segment, len(shards))
	for i, sh := range shards {
		parts[i] = open(&sh.contents, &s)
	}
	d := statePool.Get().(*searchState)
	out, err := d.search(ctx, parts, &s)
	d.release(parts)
	return out, err
}

// search finds candidates in parts.
func (d *searchState) search(ctx context.Context, parts []*segment, s *memory.Search) ([]memory.Candidate, error) {
	d.vectors.reset()
	defer d.vectors.wait() // also after a panic, since scanners read data that the locks guard
	if !s.WordsFirst {
		d.vectors.begin(parts, s)
	}
	if d.vectors.alone() {
		d.vectors.join(&d.sorter)
	}
	terms := unique(text.Terms(s.Text))
	for _, p := range parts {
		p.findPostings(terms)
	}
	addCharacterPostings(parts, s.Text, terms)
	var misspelt []memory.Misspelt
	if !s.ByWords { // with ByWords, the text is a memory and not a question
		misspelt = correct(parts, s.Text, terms)
	}
	offloaded := markOffloaded(parts, s)
	d.words.begin(s.Limit, math.SmallestNonzeroFloat32)
	weight := func(i int) float64 {
		if w, ok := s.Weights[terms[i]]; ok {
			return float64(w)
		}
		return 1
	}
	asked, sum, coverage := scoreWords(parts, len(terms), weight, &d.words, func() { d.vectors.join(&d.sorter) })
	words := d.sorter.sort(parts, pickWords(parts, &d.words), s.Limit)
	if s.WordsFirst && len(words) < s.Limit {
		d.vectors.begin(parts, s)
	}
	near := d.vectors.join(&d.sorter)
	if len(offloaded) > 0 && (!s.WordsFirst || len(words) < s.Limit) {
		near = d.sorter.sort(parts, append(offloaded, near...), nearest(s))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.ByVector && len(near) > 0 {
		d.vectors.exact.rescore(parts, words, s.Vector)
		words, near = near, slices.DeleteFunc(words, func(f found) bool {
			p := parts[f.part]
			return f.cosine != 0 || p.docs[f.n].row == away && !p.vectorsUnused
		})
	}
	list := d.unite(parts, words, near, s.Limit)
	scoreOwn(parts, asked, list)
	out := d.candidates(parts, list, s, float32(max(sum, math.SmallestNonzeroFloat32)), float32(coverage))
	if misspelt != nil {
		for i := range out {
			out[i].Misspelt = misspelt
		}
	}
	return out, nil
}

// release returns the working memory for reuse. It is not called after a panic, because the state
// may then be inconsistent.
func (d *searchState) release(parts []*segment) {
	for _, p := range parts {
		p.reset()
		scratches.Put(p.scratch)
	}
	d.vectors.release()
	statePool.Put(d)
}

func unique(terms []string) []string {
	out := terms[:0]
	for _, t := range terms {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

func open(c *contents, s *memory.Search) *segment {
	p := &segment{contents: c, scratch: scratches.Get().(*scratch), filter: newFilter(c, s)}
	p.grow(len(c.docs), len(c.threads))
	return p
}

// findPostings finds the postings of the question's terms and of their related terms.
func (p *segment) findPostings(terms []string) {
	p.asked, p.lists = terms, make([][][]uint32, 2*len(terms))
	add := func(i int, term string) {
		if id, ok := p.terms[term]; ok {
			p.lists[i] = append(p.lists[i], p.posts[id])
		}
	}
	for i, t := range terms {
		add(2*i, t)
		for _, other := range text.Related(t) {
			if !slices.Contains(terms, other) {
				add(2*i+1, other)
			}
		}
	}
}

// mergePicks returns the best documents of first, then reserves up to a quarter of limit for those
// of second. It marks them in ownNeeded.
func (d *searchState) unite(parts []*segment, first, second []found, limit int) []found {
	if len(second) == 0 {
		return first
	}
	keep := min(len(first), limit-min(limit/4, len(second)))
	out := d.united[:0]
	for _, list := range [][]found{first[:keep], second, first[keep:]} {
		for _, f := range list {
			if taken := parts[f.part].needed; len(out) < limit && !marked(taken, f.n) {
				mark(taken, f.n)
				out = append(out, f)
			}
		}
	}
	d.united = out
	return out
}
