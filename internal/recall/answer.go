package recall

import (
	"math"

	"github.com/loci-memory/loci/memory"
)

// A fused score says which candidate is better, not whether any is good: the best
// of nothing is still the best. Whether the question has its answer among the
// candidates at all shows in how they look together.

// signal is one sign of that, times its weight.
type signal struct {
	weight float64
	value  func(l *lineup) float64
}

// signals have the weights of a logistic fit that tells the questions of development conversations, between people and with
// assistants, from the same questions put to another conversation.
var signals = []signal{
	// How much of the question's words the best candidate and its neighbours have.
	// To have much of many words says more than of a few.
	{-3.5, func(l *lineup) float64 { return l.lexical }},
	{3.7, func(l *lineup) float64 { return l.lexical * math.Log1p(float64(max(len(l.words), fewWords))) }},
	// How far the best stands out from the tenth and the fourth.
	{0.6, func(l *lineup) float64 { return l.best[0] - l.best[standout-1] }},
	{-0.4, func(l *lineup) float64 { return l.best[0] - l.best[3] }},
	// What the best has itself: words, and a thing of the kind asked for.
	{1.75, func(l *lineup) float64 { return l.hinted(l.first.own, l.first) }},
	{0.75, func(l *lineup) float64 { return l.instances(l.first.Classes) }},
	{3.5, func(l *lineup) float64 {
		if l.vector == 0 {
			return usualVector
		}
		return l.vector
	}},
	// What those said whom the question is not about: the right words in the wrong
	// mouth.
	{-2.9, func(l *lineup) float64 { return l.others }},
	// What the one asked about said, where the question names one.
	{1.1, func(l *lineup) float64 { return min(1, float64(len(l.named))) * l.speakers }},
	// Other words than the question's are no sign of an answer.
	{-1.9, func(l *lineup) float64 { return l.related }},
}

// answerBase is the fit's constant.
const answerBase = -5.1

// Among hundreds of memories one has other words for the question's by chance, so
// that the fit holds them against an answer; among a few none has. The fewer
// candidates there are below [Candidates], the more other words and things of the
// kind asked for count as the question's own. They are chosen by hand: the
// data sets have no small memories (bench, TestFewFactsAreFoundInOtherWords).
const (
	inOtherWords = 0.9
	ofKind       = 0.7
)

// fewWords is how many words a question counts as at least: in three words there
// is little to miss, but the fit has seen hardly any of them.
const fewWords = 5

// usualVector is the best cosine of a usual question, for those without vectors:
// that an embedder fails is no sign for or against an answer.
const usualVector = 0.45

// standout is which place the best is compared with.
const standout = 10

// spread is how fast relevance falls with distance from the best fused score: the
// logarithm of the odds per unit.
const spread = 0.5

// lineup is all candidates of a question, and the highest of their numbers.
type lineup struct {
	*asked
	first *view             // the best by fused score, one without numbers if there is none
	top   float64           // the best fused score
	best  [standout]float64 // the best fused scores in order but for what was kept, 0 where there are fewer

	scarce           float64 // 1 for hardly any candidates, 0 from Candidates on
	lexical, related float64
	vector           float64 // 0 if no candidate has one
	speakers, others float64 // own words of those whom the question is about, and of the rest
}

func newLineup(a *asked, list []ranked) *lineup {
	l := &lineup{asked: a, first: &view{Candidate: &memory.Candidate{}}}
	var best float64
	l.scarce = max(0, 1-float64(len(list))/Candidates)
	for i := range list {
		r := &list[i]
		fused := r.fused - keptWeight*kept(&r.view) // that it was kept is no sign of an answer
		if i == 0 || fused > best || fused == best && r.ID < l.first.ID {
			l.first, best = &r.view, fused
		}
		l.top = max(l.top, r.fused)
		l.place(fused)
		l.lexical, l.related = max(l.lexical, l.hinted(r.lexical, &r.view)), max(l.related, (1-l.scarce)*r.related)
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

// hinted is a share of the question's words with what a candidate has of it in
// other words, which stand for missing ones: together they are no more than all.
func (l *lineup) hinted(share float64, c *view) float64 {
	hints := inOtherWords * min(1, c.related+ofKind*l.instances(c.Classes))
	return min(max(1, share), share+l.scarce*hints)
}

// place sets a fused score in its place among the best.
func (l *lineup) place(fused float64) {
	for i := range l.best {
		if fused > l.best[i] {
			copy(l.best[i+1:], l.best[i:])
			l.best[i] = fused
			return
		}
	}
}

// chatOdds are the log-odds that a message of a chat asks for something that memory has: by what
// was found and the form of the message together, or by what was found alone where that is sure.
func chatOdds(found, needs float64) float64 {
	return max(needs+foundShare*found, found-sureFound)
}

const (
	foundShare = 0.3 // of the odds by what was found, beside the form of the message
	sureFound  = 3.0 // by how much they must be higher where the form does not count
)

// odds returns the logarithm of the odds that the question is answered.
func (l *lineup) odds() float64 {
	odds := answerBase
	for _, s := range signals {
		odds += s.weight * s.value(l)
	}
	return odds
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
