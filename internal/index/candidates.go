package index

import (
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// vectorShare is the weight of the cosine in the searcher's score. The score only orders
// candidates; package recall judges their relevance.
const vectorShare = 0.25

// candidates returns the documents of list as candidates, best first. sum is the divisor of the
// scores, and coverage is the share of sum that comes from indexed words.
func (d *searchState) candidates(parts []*segment, list []found, s *memory.Search, sum, coverage float32) []memory.Candidate {
	for i := range list {
		if p, f := parts[list[i].part], &list[i]; marked(p.wanted, f.n) {
			f.cosine = p.cosines[f.n]
		}
	}
	d.vectors.exact.rescore(parts, list, s.Vector)
	for i := range list {
		f := &list[i]
		p := parts[f.part]
		f.score = p.byWords(f.n)/sum + vectorShare*max(0, f.cosine)
	}
	list = d.sorter.sort(parts, list, len(list))
	out := newCandidates(len(list))
	ids := d.ids[:0]
	for i, f := range list {
		p, c := parts[f.part], &out[i]
		p.setFields(f.n, c)
		p.setMeasures(f, sum, coverage, &c.Found)
		c.Score = float64(f.score)
		ids = appendUUID(ids, p.docs[f.n].id)
	}
	d.ids = ids
	all := string(ids) // one allocation for all ids
	for i, f := range list {
		if id, odd := parts[f.part].odd[f.n]; odd {
			out[i].ID = id
			continue
		}
		out[i].ID = all[i*uuidLen : (i+1)*uuidLen]
	}
	return out
}

// candidatePool pools candidate slices that callers returned with [Recycle].
var candidatePool sync.Pool // of *[]memory.Candidate

func newCandidates(n int) []memory.Candidate {
	if used, ok := candidatePool.Get().(*[]memory.Candidate); ok && cap(*used) >= n {
		return (*used)[:n]
	}
	return make([]memory.Candidate, n)
}

// Recycle returns a search result to the pool, because it is the largest allocation of a search.
// Copies of the candidates stay valid. Calling Recycle is optional.
func Done(candidates []memory.Candidate) {
	clear(candidates[:cap(candidates)])
	candidatePool.Put(&candidates)
}

// setMeasures sets the measures of a document in m, which must be zero.
func (p *segment) setMeasures(f found, sum, coverage float32, m *memory.Measures) {
	n := f.n
	m.Lexical, m.Own, m.Related = p.lexical[n]/sum, p.own[n]/sum, p.related[n]/sum
	m.Vector, m.Known = f.cosine, coverage
	if p.kinds[n] != turn {
		return
	}
	if prev := p.link[n].prev; prev != none && p.docs[prev].marks&memory.MarkAsks != 0 {
		m.Reply = p.own[prev] / sum
	}
	m.Session, m.Peak = p.session[p.docs[n].thread]/sum, p.peak(n)/sum
}

// setFields sets the fields of an empty candidate except its id and measures.
func (p *segment) setFields(n int32, c *memory.Candidate) {
	d := &p.docs[n]
	c.Kind, c.Owner = kindNames[p.kinds[n]], p.contents.scopes[d.scope].Owner
	c.At, c.Said = time.UnixMicro(d.at).UTC(), time.UnixMicro(d.origin).UTC()
	c.Role, c.Confidence = memory.Role(p.names.list[d.role]), float64(d.sure)
	c.Marks, c.Classes, c.Dates = d.marks, uint32(d.classes), p.momentsOf(n)
	c.Opens = p.kinds[n] == turn && p.link[n].prev == none
	if d.speaker != none {
		c.Speaker = p.names.list[d.speaker]
	}
	if d.row >= 0 && !p.vectorsUnused {
		c.Vector = p.half(d.row)
	}
}
