package index

import (
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// vectorShare is what a cosine of 1 adds to the searcher's measure. The measure
// orders candidates; what they are worth is for recall to say.
const vectorShare = 0.25

// candidates returns what was found, the best first. sum is what the scores are
// divided by, known the share of it that known words have.
func (d *searchState) candidates(parts []*segment, list []found, s *memory.Search, sum, known float32) []memory.Candidate {
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
	out := room(len(list))
	ids := d.ids[:0]
	for i, f := range list {
		p, c := parts[f.part], &out[i]
		p.show(f.n, c)
		p.numbers(f, sum, known, &c.Found)
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

// rooms are candidates that somebody has no use for any more; nothing is in them.
var rooms sync.Pool // of *[]memory.Candidate

// room returns n empty candidates.
func room(n int) []memory.Candidate {
	if used, ok := rooms.Get().(*[]memory.Candidate); ok && cap(*used) >= n {
		return (*used)[:n]
	}
	return make([]memory.Candidate, n)
}

// Done takes back what a search returned, from whoever will not look at it again: it is
// the most that a search allocates. What was copied of it stays as it is. Nobody has to
// call it.
func Done(candidates []memory.Candidate) {
	clear(candidates[:cap(candidates)])
	rooms.Put(&candidates)
}

// numbers sets the raw numbers of a document, which are 0.
func (p *segment) numbers(f found, sum, known float32, m *memory.Measures) {
	n := f.n
	m.Lexical, m.Own, m.Related = p.lexical[n]/sum, p.own[n]/sum, p.related[n]/sum
	m.Vector, m.Known = f.cosine, known
	if p.kinds[n] != turn {
		return
	}
	if prev := p.link[n].prev; prev != none && p.docs[prev].marks&memory.MarkAsks != 0 {
		m.Reply = p.own[prev] / sum
	}
	m.Session, m.Peak = p.session[p.docs[n].thread]/sum, p.peak(n)/sum
}

// show sets what is known of a document but for its id and its numbers, in an empty
// candidate.
func (p *segment) show(n int32, c *memory.Candidate) {
	d := &p.docs[n]
	c.Kind, c.Owner = kindNames[p.kinds[n]], p.contents.scopes[d.scope].Owner
	c.At, c.Said = time.UnixMicro(d.at).UTC(), time.UnixMicro(d.said).UTC()
	c.Role, c.Confidence = memory.Role(p.names.list[d.role]), float64(d.sure)
	c.Marks, c.Classes, c.Dates = d.marks, uint32(d.classes), p.momentsOf(n)
	c.Opens = p.kinds[n] == turn && p.link[n].prev == none
	if d.speaker != none {
		c.Speaker = p.names.list[d.speaker]
	}
	if d.row >= 0 && !p.resting {
		c.Vector = p.half(d.row)
	}
}
