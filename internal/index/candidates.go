package index

import (
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// vectorShare is the weight of the cosine in a candidate's Score; the word score has the weight 1. The Score
// only orders candidates; package recall judges their relevance.
const vectorShare = 0.25

// candidates returns docs as candidates, best first. divisor is the sum of the idf of the question's
// terms, and coverage is the share of that sum that comes from indexed terms.
func (d *searchState) candidates(segments []*segment, docs []scoredDoc, s *memory.Search, divisor, coverage float32) []memory.Candidate {
	for i := range docs {
		if p, f := segments[docs[i].segmentIndex], &docs[i]; isMarked(p.vectorPicks, f.doc) {
			f.cosine = p.cosines[f.doc]
		}
	}
	d.vectorSearch.rescorer.rescore(segments, docs, s.Vector)
	for i := range docs {
		f := &docs[i]
		p := segments[f.segmentIndex]
		f.score = p.wordScore(f.doc)/divisor + vectorShare*max(0, f.cosine)
	}
	docs = d.sorter.sort(segments, docs, len(docs))
	out := newCandidates(len(docs))
	ids := d.idBuffer[:0]
	for i, f := range docs {
		p, c := segments[f.segmentIndex], &out[i]
		p.setFields(f.doc, c)
		p.setMeasures(f, divisor, coverage, &c.Measures)
		c.Score = float64(f.score)
		ids = appendUUID(ids, p.docs[f.doc].id)
	}
	d.idBuffer = ids
	all := string(ids) // one allocation for all ids
	for i, f := range docs {
		if id, odd := segments[f.segmentIndex].textIDs[f.doc]; odd {
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

// Recycle returns a search result, the largest allocation of a search, to a pool for later searches.
// Copies of the candidates stay valid. Calling Recycle is optional.
func Recycle(candidates []memory.Candidate) {
	clear(candidates[:cap(candidates)])
	candidatePool.Put(&candidates)
}

// setMeasures sets the fields of m, which must be zero, to the measures of a document.
func (p *segment) setMeasures(doc scoredDoc, divisor, coverage float32, m *memory.Measures) {
	n := doc.doc
	m.Lexical, m.Own, m.Related = p.lexicalScores[n]/divisor, p.ownScores[n]/divisor, p.relatedScores[n]/divisor
	m.Vector, m.Known = doc.cosine, coverage
	if p.kinds[n] != turn {
		return
	}
	if prev := p.links[n].prev; prev != none && p.docs[prev].flags&memory.FlagQuestion != 0 {
		m.Reply = p.ownScores[prev] / divisor
	}
	m.Session, m.Peak = p.sessionScores[p.docs[n].conversation]/divisor, p.peakScore(n)/divisor
}

// setFields sets the fields of c, which must be zero, from document n, except id, score and measures.
func (p *segment) setFields(n int32, c *memory.Candidate) {
	d := &p.docs[n]
	c.Kind, c.Owner = kindNames[p.kinds[n]], p.contents.scopes[d.scope].Owner
	c.At, c.StatedAt = time.UnixMicro(d.updatedMicros).UTC(), time.UnixMicro(d.statedMicros).UTC()
	c.Role, c.Confidence = memory.Role(p.labels.list[d.role]), float64(d.confidence)
	c.TextFlags, c.Classes, c.Dates = d.flags, uint32(d.classes), p.datesOf(n)
	c.OpensConversation = p.kinds[n] == turn && p.links[n].prev == none
	if d.speaker != none {
		c.Speaker = p.labels.list[d.speaker]
	}
	if d.row >= 0 && !p.ignoresVectors {
		c.Vector = p.packedRow(d.row)
	}
}
