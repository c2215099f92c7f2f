package index

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// reference answers a search from the memories themselves, by the definitions in
// the package comment and with no regard to time: what the index must agree with.
type reference map[memory.Owner][]memory.IndexItem

// refDoc is a memory with its counts of words.
type refDoc struct {
	memory.IndexItem
	counts  map[string]float64
	length  float64
	nearby  []int // neighbours among docs
	share   []float64
	apart   []int   // turns, from those neighbours
	blended float64 // length
}

func (r reference) docs(scopes []memory.Scope) []*refDoc {
	var docs []*refDoc
	for _, owner := range ownersOf(scopes) {
		from := len(docs)
		for _, item := range r[owner] {
			docs = append(docs, newRefDoc(item))
		}
		for i := from; i < len(docs); i++ {
			for j := from; j < len(docs); j++ {
				if d := distance(docs[from:], i-from, j-from); d > 0 && d <= 3 {
					docs[i].nearby = append(docs[i].nearby, j)
					docs[i].apart = append(docs[i].apart, d)
					docs[i].share = append(docs[i].share, []float64{1. / 3, 1. / 3, .15}[d-1])
				}
			}
		}
	}
	for _, d := range docs {
		d.blended = d.length
		for k, j := range d.nearby {
			d.blended += d.share[k] * docs[j].length
		}
	}
	return docs
}

func newRefDoc(item memory.IndexItem) *refDoc {
	d := &refDoc{IndexItem: item, counts: map[string]float64{}}
	count := func(s string, weight float64) {
		for _, t := range text.Terms(s) {
			d.counts[t] += weight
			d.length += weight
		}
	}
	m := item.Memory
	count(m.Content(), 1)
	said := m.CreatedAt()
	if m.Fact != nil {
		said = m.Fact.ObservedAt
		for _, tag := range m.Fact.Tags {
			count(tag, 1)
		}
	}
	if m.Turn != nil {
		count(m.Turn.Name, 1)
	}
	if !said.IsZero() {
		count(said.UTC().Format("January 2006 2"), 1./3)
	}
	return d
}

// distance is how many turns apart two turns of a conversation stand, 0 for
// anything else.
func distance(docs []*refDoc, i, j int) int {
	a, b := docs[i].Memory.Turn, docs[j].Memory.Turn
	if i == j || a == nil || b == nil || a.Conversation != b.Conversation {
		return 0
	}
	if comesBefore(b, a) {
		a, b = b, a
	}
	between := 1
	for _, d := range docs {
		if t := d.Memory.Turn; t != nil && t.Conversation == a.Conversation && comesBefore(a, t) && comesBefore(t, b) {
			between++
		}
	}
	return between
}

// refHit is what the reference says of a memory.
type refHit struct {
	id                            string
	lexical, own, vector, related float64
	known, reply, session, peak   float64
	hasVector, opens              bool
}

func (h refHit) numbers() [8]float64 {
	return [8]float64{h.lexical, h.own, h.related, h.vector, h.known, h.reply, h.session, h.peak}
}

func (h refHit) byWords() float64 { return h.lexical + relatedShare*h.related }

func (r reference) search(s memory.Search) []refHit {
	docs := r.docs(s.Scopes)
	var blended, own, count [3]float64
	kind := func(d *refDoc) int {
		return slices.Index([]memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}, d.Memory.Kind())
	}
	for _, d := range docs {
		count[kind(d)]++
		blended[kind(d)] += d.blended
		own[kind(d)] += d.length
	}
	hits := make([]refHit, len(docs))
	frequencies := func(terms ...string) (tf []float64, idf float64) {
		tf, df := make([]float64, len(docs)), 0.
		for i, d := range docs {
			for _, term := range terms {
				tf[i] += d.counts[term]
				for k, j := range d.nearby {
					tf[i] += d.share[k] * docs[j].counts[term]
				}
			}
			if tf[i] > 0 {
				df++
			}
		}
		return tf, math.Log1p((float64(len(docs)) + 300 - df - 1 + .5) / (df + 1 + .5))
	}
	bm25 := func(idf, tf, length, total, count float64) float64 {
		if tf == 0 {
			return 0
		}
		return idf * tf * (bm25K1 + 1) / (tf + bm25K1*(1-bm25B+bm25B*length/(total/count)))
	}
	var sum, known float64
	terms := uniqueTerms(text.Terms(s.Text))
	meant, tabled := refMeant(docs, s, terms)
	refCharacters(docs, s.Text, terms, meant)
	for t, term := range terms {
		tf, idf := frequencies(meant[t]...)
		sum += idf
		if len(tf) > 0 && slices.Max(tf) > 0 {
			known += idf
		}
		var others []string
		for _, spelt := range append(tabled[t], term) {
			for _, t := range text.Synonyms(spelt) {
				if !slices.Contains(terms, t) {
					others = append(others, t)
				}
			}
		}
		otherTF, otherIDF := frequencies(others...)
		for i, d := range docs {
			hits[i].lexical += bm25(idf, tf[i], d.blended, blended[kind(d)], count[kind(d)])
			for _, term := range meant[t] {
				hits[i].own += bm25(idf, d.counts[term], d.length, own[kind(d)], count[kind(d)])
			}
			hits[i].related += bm25(min(idf, otherIDF), otherTF[i], d.blended, blended[kind(d)], count[kind(d)])
		}
	}
	for i, d := range docs {
		if sum > 0 {
			hits[i].own /= sum
		}
		hits[i].id = d.Memory.ID()
	}
	around(docs, hits)
	var out []refHit
	for i, d := range docs {
		if sum > 0 {
			hits[i].lexical /= sum
			hits[i].related /= sum
			hits[i].known = known / sum
		}
		if s.Vector != nil && d.Vector != nil {
			hits[i].hasVector = true
			hits[i].vector = float64(vector.Dot(s.Vector, d.Vector))
		}
		if refAdmits(d.Memory, s) {
			out = append(out, hits[i])
		}
	}
	return out
}

// refMeant returns what each of a question's terms is taken for: itself where any memory has it
// or something related, and else what it may be meant to be that one has; tabled are those of
// which one has something related alone.
func refMeant(docs []*refDoc, s memory.Search, terms []string) (out, tabled [][]string) {
	have := func(term string) bool {
		return slices.ContainsFunc(docs, func(d *refDoc) bool { return d.counts[term] > 0 })
	}
	out, tabled = make([][]string, len(terms)), make([][]string, len(terms))
	tried := 0
	for i, term := range terms {
		related := slices.DeleteFunc(slices.Clone(text.Synonyms(term)), func(other string) bool { return slices.Contains(terms, other) })
		if have(term) || slices.ContainsFunc(related, have) || tried == text.MaxCorrectedWords || s.WordsOnly {
			out[i] = []string{term}
			continue
		}
		tried++
		text.EachCorrection(term, func(m []byte) {
			if have(string(m)) {
				out[i] = append(out[i], string(m))
			}
		})
		if out[i] != nil {
			continue
		}
		text.EachEndingCorrection(text.FirstWordWithTerm(s.Text, term), func(m string) {
			if have(m) && !slices.Contains(out[i], m) {
				out[i] = append(out[i], m)
			}
		})
		if out[i] == nil {
			add := func(m string) {
				if !slices.Contains(tabled[i], m) {
					tabled[i] = append(tabled[i], m)
				}
			}
			text.EachCorrection(term, func(m []byte) { add(string(m)) })
			text.EachEndingCorrection(text.FirstWordWithTerm(s.Text, term), add)
		}
	}
	return out, tabled
}

// refCharacters takes a single character that stands alone in a question, or that no memory has as a
// word, for itself anywhere: a term that begins with a space counts that.
func refCharacters(docs []*refDoc, asked string, terms []string, meant [][]string) {
	for i, term := range terms {
		if len([]rune(term)) > 1 || term < "\u0e00" {
			continue
		}
		known := slices.ContainsFunc(docs, func(d *refDoc) bool { return d.counts[term] > 0 })
		if known && !slices.Contains(strings.Fields(asked), term) {
			continue
		}
		meant[i] = []string{" " + term}
		for _, d := range docs {
			begin, end := 0., 0.
			for word, n := range d.counts {
				if strings.HasPrefix(word, term) {
					begin += n
				}
				if strings.HasSuffix(word, term) {
					end += n
				}
			}
			d.counts[" "+term] = max(begin, end)
		}
	}
}

// around fills what turns have of those around them.
func around(docs []*refDoc, hits []refHit) {
	for i, d := range docs {
		if d.Memory.Turn == nil {
			continue
		}
		hits[i].opens = true
		var best float64
		var all []float64
		for j, other := range docs {
			t := other.Memory.Turn
			if t == nil || t.Owner != d.Memory.Turn.Owner || t.Conversation != d.Memory.Turn.Conversation {
				continue
			}
			all = append(all, hits[j].own)
			hits[i].opens = hits[i].opens && !comesBefore(t, d.Memory.Turn)
			k := slices.Index(d.nearby, j)
			if k < 0 {
				continue
			}
			if d.apart[k] <= 2 {
				best = max(best, hits[j].own)
			}
			if d.apart[k] == 1 && comesBefore(t, d.Memory.Turn) && text.EndsInQuestionMark(t.Content) {
				hits[i].reply = hits[j].own
			}
		}
		slices.SortFunc(all, func(a, b float64) int { return cmp.Compare(b, a) })
		for _, x := range all[:min(3, len(all))] {
			hits[i].session += x / 3
		}
		hits[i].peak = max(0, hits[i].own-best)
	}
}

func comesBefore(x, y *memory.Turn) bool {
	return cmp.Or(cmp.Compare(x.Index, y.Index), cmp.Compare(x.ID, y.ID)) < 0
}

func refAdmits(m memory.Memory, s memory.Search) bool {
	conversation := m.Scope().Conversation
	switch {
	case m.Turn != nil:
		conversation = m.Turn.Conversation
	case m.Fact != nil && conversation == "":
		conversation = m.Fact.Provenance.Conversation
	}
	return slices.ContainsFunc(s.Scopes, func(asks memory.Scope) bool { return asks.Sees(m.Scope()) }) &&
		(len(s.Kinds) == 0 || slices.Contains(s.Kinds, m.Kind())) &&
		(s.Conversation == "" || s.Conversation == conversation) &&
		(s.Category == "" || m.Fact != nil && m.Fact.Category == s.Category) &&
		(s.Tag == "" || m.Fact != nil && slices.Contains(m.Fact.Tags, s.Tag)) &&
		(m.Fact == nil || m.Fact.ExpiresAt.IsZero() || s.Now.IsZero() || s.Now.Before(m.Fact.ExpiresAt)) &&
		!s.ExcludedIDs[m.ID()] && (s.AllowedIDs == nil || s.AllowedIDs[m.ID()])
}

// agree fails unless what a searcher finds is what the reference finds: the best
// of each by words, with the same numbers.
func agree(t *testing.T, r reference, x memory.Searcher, s memory.Search) {
	t.Helper()
	got, err := x.Search(context.Background(), s)
	if err != nil {
		t.Fatalf("search %+v: %v", s, err)
	}
	want := map[string]refHit{}
	words, near := []refHit{}, []refHit{}
	for _, h := range r.search(s) {
		want[h.id] = h
		if h.byWords() > 0 {
			words = append(words, h)
		}
		if h.hasVector && !s.WordsOnly {
			near = append(near, h)
		}
	}
	slices.SortFunc(words, func(a, b refHit) int { return cmp.Compare(b.byWords(), a.byWords()) })
	found := map[string]bool{}
	for _, c := range got {
		h, ok := want[c.ID]
		if !ok {
			t.Fatalf("search %+v found %s, which it may not see", s, c.ID)
		}
		if found[c.ID] {
			t.Fatalf("search %+v found %s twice", s, c.ID)
		}
		found[c.ID] = true
		if c.OpensConversation != h.opens {
			t.Fatalf("search %q: %s opens its conversation: %v, want %v", s.Text, c.ID, c.OpensConversation, h.opens)
		}
		m := c.Measures
		for i, got := range [8]float32{m.Lexical, m.Own, m.Related, m.Vector, m.Known, m.Reply, m.Session, m.Peak} {
			if math.Abs(float64(got)-h.numbers()[i]) > 2e-3 {
				t.Fatalf("search %q: %s has %+v, want %v", s.Text, c.ID, m, h.numbers())
			}
		}
	}
	slices.SortFunc(near, func(a, b refHit) int { return cmp.Compare(b.vector, a.vector) })
	near = near[:min(len(near), s.Limit/4)]
	if s.WordsFirst && len(words) >= s.Limit {
		near = nil
	}
	words = words[:min(len(words), s.Limit-len(near))]
	for _, h := range words {
		if !found[h.id] && h.byWords() > words[len(words)-1].byWords()+1e-4 {
			t.Fatalf("search %q: %s with %v by words is missing", s.Text, h.id, h.byWords())
		}
	}
	for _, h := range near {
		if !found[h.id] && h.vector > near[len(near)-1].vector+1e-2 {
			t.Fatalf("search %q: %s with cosine %v is missing", s.Text, h.id, h.vector)
		}
	}
}

var day = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
