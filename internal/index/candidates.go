package index

import (
	"time"

	"github.com/loci-memory/loci/memory"
)

// vectorShare is what a cosine of 1 adds to the searcher's measure. The measure
// orders candidates; what they are worth is for recall to say.
const vectorShare = 0.25

// candidates returns what was found, the best first. sum is what the scores are
// divided by, known the share of it that known words have.
func (d *desk) candidates(parts []*part, list []found, s *memory.Search, sum, known float32) []memory.Candidate {
	for i := range list {
		f := &list[i]
		p := parts[f.part]
		switch {
		case marked(p.wanted, f.n):
			f.cosine = p.cosines[f.n]
		case f.cosine == unknown:
			f.cosine = p.cosineOf(f.n, s.Vector)
		}
		f.score = p.byWords(f.n)/sum + vectorShare*max(0, f.cosine)
	}
	list = d.sorter.sort(parts, list, len(list))
	out := make([]memory.Candidate, len(list))
	ids := d.ids[:0]
	for i, f := range list {
		p := parts[f.part]
		out[i] = p.candidate(f.n)
		out[i].Found, out[i].Score = p.measures(f, sum, known), float64(f.score)
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

// measures returns the raw numbers of a document.
func (p *part) measures(f found, sum, known float32) memory.Measures {
	n := f.n
	m := memory.Measures{
		Lexical: p.lexical[n] / sum, Own: p.own[n] / sum, Related: p.related[n] / sum,
		Vector: f.cosine, Known: known,
	}
	if p.kinds[n] != turn {
		return m
	}
	if prev := p.link[n].prev; prev != none && p.docs[prev].marks&memory.MarkAsks != 0 {
		m.Reply = p.own[prev] / sum
	}
	m.Session, m.Peak = p.session[p.docs[n].thread]/sum, p.peak(n)/sum
	return m
}

// candidate returns what is known of a document but for its id and its numbers.
func (p *part) candidate(n int32) memory.Candidate {
	d := &p.docs[n]
	c := memory.Candidate{
		Kind: kindNames[p.kinds[n]], Owner: p.contents.scopes[d.scope].Owner,
		At: time.UnixMicro(d.at).UTC(), Said: time.UnixMicro(d.said).UTC(),
		Role: memory.Role(p.names.list[d.role]), Confidence: float64(d.sure),
		Marks: d.marks, Classes: uint32(d.classes), Dates: p.momentsOf(n),
	}
	if d.speaker != none {
		c.Speaker = p.names.list[d.speaker]
	}
	if d.row != none && !p.resting {
		c.Vector = p.half(d.row)
	}
	return c
}
