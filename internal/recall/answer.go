package recall

import (
	"math"

	"github.com/loci-memory/loci/memory"
)

// A fused score compares candidates but does not show whether any of them is good. The signals below use all
// candidates to estimate whether they contain an answer.

// signal is one such signal with its weight.
type signal struct {
	weight float64
	value  func(l *candidateSet) float64
}

// signals have weights from a logistic fit on development conversations, both between people and with
// assistants. It separates questions about a conversation from the same questions about another one.
var signals = []signal{
	// The share of the question's words in the best candidate and its neighbours. A large share of many words
	// is stronger evidence than a large share of few words.
	{-3.5, func(l *candidateSet) float64 { return l.lexical }},
	{3.7, func(l *candidateSet) float64 { return l.lexical * math.Log1p(float64(max(len(l.words), fewWords))) }},
	// The lead of the best candidate over the tenth and the fourth.
	{0.6, func(l *candidateSet) float64 { return l.best[0] - l.best[comparedRank-1] }},
	{-0.4, func(l *candidateSet) float64 { return l.best[0] - l.best[3] }},
	// The best candidate's own words, and a thing of the requested kind.
	{1.75, func(l *candidateSet) float64 { return l.shareWithSynonyms(l.first.own, l.first) }},
	{0.75, func(l *candidateSet) float64 { return l.instances(l.first.Classes) }},
	{3.5, func(l *candidateSet) float64 {
		if l.vector == 0 {
			return usualVector
		}
		return l.vector
	}},
	// Words of speakers other than the subject of the question: the right words from the wrong person.
	{-2.9, func(l *candidateSet) float64 { return l.others }},
	// Words of the speaker named in the question.
	{1.1, func(l *candidateSet) float64 { return min(1, float64(len(l.named))) * l.speakers }},
	// Synonyms of the question's words do not indicate an answer.
	{-1.9, func(l *candidateSet) float64 { return l.related }},
}

// answerBase is the constant of the fit.
const answerBase = -5.1

// Among hundreds of memories synonyms occur by chance, so the fit counts them against an answer. Among a few
// memories they do not. The further the number of candidates is below [Candidates], the more synonyms and
// requested kinds count as words of the question. These values were chosen by hand, because the data sets have
// no small memories (bench, TestFewFactsAreFoundInOtherWords).
const (
	inOtherWords = 0.9
	ofKind       = 0.7
)

// fewWords is the minimum word count that the fit assumes for a question; its data has hardly any shorter ones.
const fewWords = 5

// usualVector is the best cosine of a typical question. It replaces missing vectors, because a failing
// embedder says nothing about the answer.
const usualVector = 0.45

// comparedRank is the rank with which the best candidate is compared.
const comparedRank = 10

// spread is how fast relevance falls with the distance from the best fused score, in log-odds per unit.
const spread = 0.5

// candidateSet holds all candidates of a question and their highest numbers.
type candidateSet struct {
	*scoredQuery
	first *view                 // the best candidate by fused score; all numbers are zero if there is none
	top   float64               // the best fused score
	best  [comparedRank]float64 // the best fused scores in order, without the kept cue; 0 for missing ones

	scarcity         float64 // 1 for hardly any candidates, falling to 0 at Candidates
	lexical, related float64
	vector           float64 // 0 if no candidate has a vector
	speakers, others float64 // own words of the question's subjects, and own words of other speakers
}

func newCandidateSet(a *scoredQuery, list []ranked) *candidateSet {
	l := &candidateSet{scoredQuery: a, first: &view{Candidate: &memory.Candidate{}}}
	var best float64
	l.scarcity = max(0, 1-float64(len(list))/Candidates)
	for i := range list {
		r := &list[i]
		fused := r.fused - keptWeight*kept(&r.view) // a request to keep a memory does not show that the memory is an answer
		if i == 0 || fused > best || fused == best && r.ID < l.first.ID {
			l.first, best = &r.view, fused
		}
		l.top = max(l.top, r.fused)
		l.place(fused)
		l.lexical, l.related = max(l.lexical, l.shareWithSynonyms(r.lexical, &r.view)), max(l.related, (1-l.scarcity)*r.related)
		l.vector = max(l.vector, r.vector)
		switch {
		case speaker(a, &r.view) > 0:
			l.speakers = max(l.speakers, r.own)
		case r.Kind == memory.KindTurn:
			l.others = max(l.others, r.own)
		}
	}
	return l
}

// shareWithSynonyms returns a share of the question's words plus synonyms for missing words, at most 1.
func (l *candidateSet) shareWithSynonyms(share float64, c *view) float64 {
	hints := inOtherWords * min(1, c.related+ofKind*l.instances(c.Classes))
	return min(max(1, share), share+l.scarcity*hints)
}

// place inserts a fused score into the list of the best scores.
func (l *candidateSet) place(fused float64) {
	for i := range l.best {
		if fused > l.best[i] {
			copy(l.best[i+1:], l.best[i:])
			l.best[i] = fused
			return
		}
	}
}

// chatOdds returns the log-odds that a chat message asks for stored memory. It uses the candidates and the
// form of the message, or only the candidates if they are certain.
func chatOdds(found, needs float64) float64 {
	return max(needs+foundShare*found, found-sureFound)
}

const (
	foundShare = 0.3 // weight of the candidates' odds; the form has the remaining weight
	sureFound  = 3.0 // log-odds of the candidates above which the form does not count
)

// odds returns the log-odds that the candidates answer the question.
func (l *candidateSet) odds() float64 {
	odds := answerBase
	for _, s := range signals {
		odds += s.weight * s.value(l)
	}
	return odds
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
