package recall

import "math"

// A fused score says which candidate is better, not whether any is good: the best
// of nothing is still the best. Whether the question has its answer among the
// candidates at all shows in how they look together.

// signal is one sign of that, times its weight.
type signal struct {
	name   string
	weight float64
	value  func(l *lineup) float64
}

// signals have the weights of a logistic fit that tells the questions of
// development conversations, between people and with assistants, from the same
// questions put to another conversation.
var signals = []signal{
	// How much of the question's words the best candidate and its neighbours have,
	// and how much is known to the owner at all.
	{"lexical", 6.8, func(l *lineup) float64 { return l.most(func(c *view) float64 { return c.lexical }) }},
	{"known", 0.6, func(l *lineup) float64 { return l.most(func(c *view) float64 { return c.known }) }},
	// How much of them the person asked about said.
	{"speaker", 2.1, (*lineup).saidBySpeaker},
	{"named", 0.6, func(l *lineup) float64 { return min(1, float64(len(l.named))) }},
	// How far the best stands out from the tenth.
	{"margin", 0.18, func(l *lineup) float64 { return l.best[0] - l.best[standout-1] }},
	// A turn alone among turns about something else, and a conversation that has
	// a bit of everything, are more often chance than the lexical score says.
	{"peak", -3.9, func(l *lineup) float64 { return l.most(func(c *view) float64 { return c.peak }) }},
	{"session", -1.4, func(l *lineup) float64 { return l.most(func(c *view) float64 { return c.session }) }},
	// Of many words a smaller share is met.
	{"words", 1.06, func(l *lineup) float64 { return math.Log1p(float64(len(l.words))) }},
}

// answerBase is the fit's constant.
const answerBase = -6.64

// standout is which place the best is compared with.
const standout = 10

// spread is how fast relevance falls with distance from the best fused score: the
// logarithm of the odds per unit.
const spread = 0.5

// lineup is all candidates of a question.
type lineup struct {
	*asked
	list []ranked
	best [standout]float64 // the best fused scores in order, 0 where there are fewer
}

func newLineup(a *asked, list []ranked) *lineup {
	l := &lineup{asked: a, list: list}
	for i := range list {
		fused := list[i].fused
		for i := range l.best {
			if fused > l.best[i] {
				copy(l.best[i+1:], l.best[i:])
				l.best[i] = fused
				break
			}
		}
	}
	return l
}

// odds returns the logarithm of the odds that the question is answered.
func (l *lineup) odds() float64 {
	odds := answerBase
	for _, s := range signals {
		odds += s.weight * s.value(l)
	}
	return odds
}

// most returns the highest of a number that the searcher gave.
func (l *lineup) most(number func(c *view) float64) float64 {
	var most float64
	for i := range l.list {
		most = max(most, number(&l.list[i].view))
	}
	return most
}

// saidBySpeaker is the best own score of those whom the question is about.
func (l *lineup) saidBySpeaker() float64 {
	return l.most(func(c *view) float64 {
		if speaker(l.asked, c) > 0 {
			return c.own
		}
		return 0
	})
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
