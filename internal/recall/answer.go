package recall

import (
	"math"

	"github.com/loci-memory/loci/memory"
)

// Fused scores rank the candidates, but do not show whether the best candidate is an answer. The signals
// estimate this from all candidates.

// signal is evidence for or against an answer among the candidates, with its weight in log-odds.
type signal struct {
	weight float64
	value  func(l *candidateSet) float64
}

// signals have weights from a logistic fit on development conversations, both between people and with assistants.
// It separates questions about their own conversation from the same questions about another conversation.
var signals = []signal{
	// The share of the question's words in the best candidate and its neighbours. A large share counts more
	// if the question has many words.
	{-3.5, func(l *candidateSet) float64 { return l.lexical }},
	{3.7, func(l *candidateSet) float64 { return l.lexical * math.Log1p(float64(max(len(l.words), fewWords))) }},
	// The lead of the best fused score over the tenth and the fourth.
	{0.6, func(l *candidateSet) float64 { return l.best[0] - l.best[comparedRank-1] }},
	{-0.4, func(l *candidateSet) float64 { return l.best[0] - l.best[3] }},
	// The question's words, and things of the requested kind, in the best candidate itself.
	{1.75, func(l *candidateSet) float64 { return l.shareWithSynonyms(l.first.own, l.first) }},
	{0.75, func(l *candidateSet) float64 { return l.instances(l.first.Classes) }},
	{3.5, func(l *candidateSet) float64 {
		if l.vector == 0 {
			return usualVector
		}
		return l.vector
	}},
	// The question's words in turns of other speakers than the question's subject.
	{-2.9, func(l *candidateSet) float64 { return l.others }},
	// The question's words in turns of the named speaker.
	{1.1, func(l *candidateSet) float64 { return min(1, float64(len(l.named))) * l.speakers }},
	// Synonyms of the question's words are evidence against an answer.
	{-1.9, func(l *candidateSet) float64 { return l.related }},
}

// answerBase is the intercept of the fit, in log-odds.
const answerBase = -5.1

// Weights of synonyms and of things of the requested kind, compared with words of the question, in a memory of few
// facts. Among hundreds of memories synonyms occur by chance, so the weights fall to 0 at [Candidates] candidates. The
// values were chosen by hand, because the data sets have no small memories (bench, TestFewFactsAreFoundInOtherWords).
const (
	inOtherWords = 0.9
	ofKind       = 0.7
)

// fewWords is the minimum word count that signals assume for a question; the data has hardly any shorter questions.
const fewWords = 5

// usualVector is the best cosine of a typical question. It replaces missing vectors, so that a failing
// embedder does not change the estimate.
const usualVector = 0.45

// comparedRank is the number of best scores that a candidateSet keeps; signals compare the first with the last.
const comparedRank = 10

// spread is how fast relevance falls with the distance from the best fused score, in log-odds per unit.
const spread = 0.5

// candidateSet holds the highest numbers of all candidates of a question.
type candidateSet struct {
	*scoredQuery
	first *view                 // the best candidate by fused score without the kept cue; never nil
	top   float64               // the best fused score
	best  [comparedRank]float64 // the best fused scores in order, without the kept cue; 0 if there are fewer candidates

	scarcity         float64 // 1 for hardly any candidates, falling to 0 at Candidates
	lexical, related float64
	vector           float64 // 0 if no candidate has a vector
	speakers, others float64 // highest word share in turns of the question's subjects, and of other speakers
}

func newCandidateSet(a *scoredQuery, list []ranked) *candidateSet {
	l := &candidateSet{scoredQuery: a, first: &view{Candidate: &memory.Candidate{}}}
	var best float64
	l.scarcity = max(0, 1-float64(len(list))/Candidates)
	for i := range list {
		r := &list[i]
		fused := r.fused - keptWeight*kept(&r.view) // being a fact does not show that the memory is an answer
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

// chatOdds returns the log-odds that a chat message asks for stored memory. It adds the odds of the
// candidates and of the message's form, or uses only high odds of the candidates.
func chatOdds(found, needs float64) float64 {
	return max(needs+foundShare*found, found-sureFound)
}

const (
	foundShare = 0.3 // weight of the candidates' odds; the weight of the form's odds is 1
	sureFound  = 3.0 // penalty on the candidates' odds where the form's odds are ignored
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
