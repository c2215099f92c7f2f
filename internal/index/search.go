package index

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// defaultLimit is enough for recall's cues: ranking beyond the best 200 by words
// finds nothing more.
const defaultLimit = 200

// scanBlock is how many vectors are scanned at a time, so that their scores stay
// in the nearest cache.
const scanBlock = 512

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// search finds candidates in shards, which the caller has locked for reading.
func search(ctx context.Context, shards []*shard, s memory.Search) ([]memory.Candidate, error) {
	if s.Limit <= 0 {
		s.Limit = defaultLimit
	}
	terms := unique(text.Terms(s.Text))
	parts := make([]*part, len(shards))
	for i, sh := range shards {
		parts[i] = open(sh, s, terms)
		defer func(x *scratch) {
			x.reset()
			scratches.Put(x)
		}(parts[i].scratch)
	}
	known := scoreWords(parts, len(terms))
	found := pickWords(parts, s)
	if s.Vector != nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found = union(found, pickVectors(parts, s), s.Limit)
	}
	for _, p := range parts {
		p.rankThreads()
	}
	return candidates(found, s, float32(known)), nil
}

func unique(terms []string) []string {
	seen := make(map[string]bool, len(terms))
	return slices.DeleteFunc(terms, func(t string) bool {
		again := seen[t]
		seen[t] = true
		return again
	})
}

func open(sh *shard, s memory.Search, terms []string) *part {
	p := &part{contents: &sh.contents, scratch: scratches.Get().(*scratch), lists: make([][]uint32, len(terms)), synonym: make([][][]uint32, len(terms)), allowed: make([]bool, len(sh.scopes))}
	p.fit(len(sh.docs), len(sh.threads))
	for i, t := range terms {
		if id, ok := sh.terms[t]; ok {
			p.lists[i] = sh.posts[id]
		}
		for _, other := range text.Related(t) {
			if id, ok := sh.terms[other]; ok && !slices.Contains(terms, other) {
				p.synonym[i] = append(p.synonym[i], sh.posts[id])
			}
		}
	}
	for i, scope := range sh.scopes {
		p.allowed[i] = slices.ContainsFunc(s.Scopes, func(asks memory.Scope) bool { return asks.Sees(scope) })
	}
	return p
}

// admits reports whether a search may be shown document n.
func (p *part) admits(n int32, s *memory.Search) bool {
	d := &p.docs[n]
	if d.kind == 0 || !p.allowed[d.scope] {
		return false
	}
	if len(s.Kinds) > 0 && !slices.Contains(s.Kinds, kindNames[d.kind]) {
		return false
	}
	if s.Conversation != "" && (d.thread == none || p.convs.list[d.thread] != s.Conversation) {
		return false
	}
	if s.Category != "" && (d.category == none || p.names.list[d.category] != s.Category) {
		return false
	}
	if s.Tag != "" && !slices.Contains(p.tags[n], s.Tag) {
		return false
	}
	if end, ok := p.expires[n]; ok && !s.Now.IsZero() && s.Now.UnixMicro() >= end {
		return false
	}
	return !s.Exclude[d.id]
}

// found is a document with a score to be picked by.
type found struct {
	*part
	n     int32
	score float32
}

func better(a, b found) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	return a.docs[a.n].id < b.docs[b.n].id
}

func pickWords(parts []*part, s memory.Search) []found {
	top := vector.NewTop(s.Limit, better, nil)
	var least float32 // that still counts, so that most cost one comparison
	for _, p := range parts {
		for _, n := range p.hits {
			score := p.byWords(n)
			if score < least {
				continue
			}
			if f := (found{p, n, score}); top.Takes(f) && p.admits(n, &s) {
				top.Push(f)
				if worst, full := top.Worst(); full {
					least = worst.score
				}
			}
		}
	}
	return top.Sorted()
}

// pickVectors scans all vectors, rescores the best exactly, and returns them by
// their cosine. Vectors of another length are of another model and left out.
func pickVectors(parts []*part, s memory.Search) []found {
	q := vector.NewQuery(s.Vector)
	top := vector.NewTop(s.Limit, better, nil)
	for _, p := range parts {
		if p.dims != len(s.Vector) {
			continue
		}
		if cap(p.cosine) < scanBlock {
			p.cosine = make([]float32, scanBlock)
		}
		for from := 0; from < len(p.rowDoc); from += scanBlock {
			to := min(from+scanBlock, len(p.rowDoc))
			out := p.cosine[:to-from]
			vector.Scan(q, p.quant.Rows(from, to, p.dims), out)
			for i, score := range out {
				n := p.rowDoc[from+i]
				if n == none {
					continue
				}
				if f := (found{p, n, score}); top.Takes(f) && p.admits(n, &s) {
					top.Push(f)
				}
			}
		}
	}
	out := top.Sorted()
	for i := range out {
		out[i].score = out[i].cosineTo(s.Vector)
	}
	slices.SortFunc(out, func(a, b found) int {
		if better(a, b) {
			return -1
		}
		return 1
	})
	return out
}

// cosineTo returns the exact cosine of the document's vector, 0 without one.
func (f found) cosineTo(v []float32) float32 {
	row := f.docs[f.n].row
	if row == none || f.dims != len(v) {
		return 0
	}
	return vector.DotHalf(v, f.half[int(row)*f.dims:int(row+1)*f.dims])
}

// union takes the best by words and fills up with the best by vector, for which a
// quarter of the places is kept.
func union(words, vectors []found, limit int) []found {
	keep := min(len(words), limit-min(limit/4, len(vectors)))
	taken := map[*part]map[int32]bool{}
	out := make([]found, 0, limit)
	add := func(f found) {
		if taken[f.part] == nil {
			taken[f.part] = map[int32]bool{}
		}
		if len(out) < limit && !taken[f.part][f.n] {
			taken[f.part][f.n] = true
			f.score = f.byWords(f.n)
			out = append(out, f)
		}
	}
	for _, list := range [][]found{words[:keep], vectors, words[keep:]} {
		for _, f := range list {
			add(f)
		}
	}
	return out
}

// vectorShare is what a cosine of 1 adds to the searcher's measure. The measure
// orders candidates; what they are worth is for recall to say.
const vectorShare = 0.25

func candidates(list []found, s memory.Search, known float32) []memory.Candidate {
	out := make([]memory.Candidate, len(list))
	backing := make([]memory.Part, 0, len(list)*maxParts)
	for i, f := range list {
		start := len(backing)
		cosine := f.cosineTo(s.Vector)
		backing = f.why(backing, cosine, known)
		out[i] = f.candidate()
		out[i].Why = backing[start:len(backing):len(backing)]
		out[i].Score = float64(f.byWords(f.n)) + vectorShare*max(0, float64(cosine))
	}
	slices.SortStableFunc(out, func(a, b memory.Candidate) int {
		switch {
		case a.Score > b.Score, a.Score == b.Score && a.ID < b.ID:
			return -1
		case a.Score == b.Score && a.ID == b.ID:
			return 0
		}
		return 1
	})
	return out
}

// maxParts is how many parts why may write.
const maxParts = 8

// why writes the raw numbers of a document; what is 0 is left out.
func (f found) why(parts []memory.Part, cosine, known float32) []memory.Part {
	add := func(name string, x float32) {
		if x != 0 {
			parts = append(parts, memory.Part{Name: name, Value: float64(x)})
		}
	}
	n := f.n
	add("lexical", f.lexical[n])
	add("own", f.own[n])
	add("related", f.related[n])
	add("vector", cosine)
	add("known", known)
	d := &f.docs[n]
	if d.kind != turn {
		return parts
	}
	if prev := f.link[n].prev; prev != none && f.docs[prev].marks&memory.MarkAsks != 0 {
		add("reply", f.own[prev])
	}
	top := f.top3[d.thread]
	add("session", (top[0]+top[1]+top[2])/3)
	add("peak", f.peak(n))
	return parts
}

func (f found) candidate() memory.Candidate {
	d := &f.docs[f.n]
	c := memory.Candidate{
		ID: d.id, Kind: kindNames[d.kind], Scope: f.scopes[d.scope],
		At: time.UnixMicro(d.at).UTC(), Said: time.UnixMicro(d.said).UTC(),
		Role: d.role, Confidence: float64(d.sure), Marks: d.marks, Classes: uint32(d.classes), Dates: d.dates,
	}
	if d.thread != none {
		c.Conversation = f.convs.list[d.thread]
	}
	if d.speaker != none {
		c.Speaker = f.names.list[d.speaker]
	}
	if d.row != none {
		c.Vector = f.half[int(d.row)*f.dims : int(d.row+1)*f.dims : int(d.row+1)*f.dims]
	}
	return c
}
