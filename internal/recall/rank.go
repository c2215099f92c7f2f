package recall

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Options are the settings of [Rank]. The zero value means the defaults; a pointer
// tells 0 from the default.
type Options struct {
	Limit     int      // how many to keep; 0: 20
	Answered  *float64 // relevance that the best must have for anything to be kept; nil: DefaultAnswered
	Threshold *float64 // relevance that each must have; nil: DefaultThreshold
	Recency   *float64 // weight of recency in the score, 0 to 1; nil: 0.2
	Lambda    *float64 // weight of the score against redundancy; nil: 0.7
}

// The defaults. Loci shows a handful of memories; twenty leave room for what
// hydration and the token budget take out.
const (
	defaultLimit   = 20
	defaultRecency = 0.2
	defaultLambda  = 0.7
)

// DefaultAnswered is the chance below which a question is taken to have no answer
// here, and nothing is shown: on development data it keeps 99 % of the answerable
// questions and refuses 25 % (LoCoMo), 18 % (BEAM) and 6 % (RealMem) of those of
// another conversation, which are about the same things; docs/ranking.md has what
// other bars give. DefaultThreshold is far lower: where the best answers well, what
// stands behind it may complete the answer.
const (
	DefaultAnswered  = 0.07
	DefaultThreshold = 0.02
)

// ageScale is the age in days at which recency has fallen to 1/e.
const ageScale = 30

// Cut is a candidate that was left out, and the stage that did it.
type Cut struct {
	Candidate memory.Candidate
	Stage     string // "answered", "threshold" or "limit"
}

// ranked is a candidate on its way through the stages, with a number for each.
type ranked struct {
	view
	fused, relevance, recency, confidence, score, mmr float64

	redundant float64 // with those chosen so far
	compared  int     // with how many of them it has been compared
}

// Rank orders candidates by what they are worth to the query at now, and returns
// those to show and, for a trace, the best of those left out, at most as many as
// may be kept; both best first. Their Score is the blend of relevance and recency,
// weighed by confidence; Why has a part for each cue and stage. The input is left
// as it is.
func Rank(q Query, candidates []memory.Candidate, o Options, now time.Time) (kept []memory.Candidate, cut []Cut) {
	if len(candidates) == 0 {
		return nil, nil
	}
	a := newAsked(q, candidates)
	list := o.score(a, candidates, now)
	order := inOrder(list)
	limit := o.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	stage, least := "threshold", or(o.Threshold, DefaultThreshold)
	// Who sets the bar below this asks to see what is there.
	if bar := or(o.Answered, DefaultAnswered); mostRelevant(list) < min(bar, or(o.Threshold, bar)) {
		stage, least = "answered", math.Inf(1)
	}
	order, relevant := relevantFirst(order, least)
	diversify(order[:relevant], or(o.Lambda, defaultLambda), limit)
	showing := min(limit, relevant)
	others := order[showing:min(len(order), showing+limit)]
	backing := make(memory.Why, 0, (showing+len(others))*usualWhy)
	if showing > 0 {
		kept = make([]memory.Candidate, showing)
	}
	if len(others) > 0 {
		cut = make([]Cut, len(others))
	}
	for i, r := range order[:showing] {
		kept[i], backing = r.explained(a, backing)
	}
	for i, r := range others {
		cut[i].Stage = stage
		if showing+i < relevant {
			cut[i].Stage = "limit"
		}
		cut[i].Candidate, backing = r.explained(a, backing)
	}
	return kept, cut
}

// inOrder returns the candidates by score, best first, equal ones by id.
func inOrder(list []ranked) []*ranked {
	order := make([]*ranked, len(list))
	for i := range list {
		order[i] = &list[i]
	}
	slices.SortFunc(order, func(x, y *ranked) int {
		if x.score != y.score {
			return cmp.Compare(y.score, x.score)
		}
		return cmp.Compare(x.ID, y.ID)
	})
	return order
}

// relevantFirst returns the candidates of at least that relevance before the
// others, each side in the order it was in, and how many they are.
func relevantFirst(order []*ranked, least float64) (_ []*ranked, relevant int) {
	sides := make([]*ranked, 0, len(order))
	for _, r := range order {
		if r.relevance >= least {
			sides = append(sides, r)
		}
	}
	relevant = len(sides)
	for _, r := range order {
		if !(r.relevance >= least) { // what is no number is not relevant
			sides = append(sides, r)
		}
	}
	return sides, relevant
}

// score takes candidates through fusion, calibration and the blend with recency
// and confidence.
func (o Options) score(a *asked, candidates []memory.Candidate, now time.Time) []ranked {
	list := fuse(a, candidates)
	l := newLineup(a, list)
	odds, w := l.odds(), unit(or(o.Recency, defaultRecency))
	for i := range list {
		r := &list[i]
		if a.touches(&r.view) {
			r.relevance = sigmoid(odds + spread*(r.fused-l.best[0]))
		}
		r.recency = recency(now.Sub(r.At))
		r.confidence = sure(r.Confidence)
		r.score = ((1-w)*r.relevance + w*r.recency) * r.confidence
	}
	return list
}

// doubtCosts is the share of its score that a fact of no confidence loses.
const doubtCosts = 0.3

// sure is what confidence multiplies a score by. A searcher that does not say how
// sure it is says 0, and costs its candidates nothing against each other.
func sure(confidence float64) float64 { return 1 - doubtCosts*(1-unit(confidence)) }

// unit is x within 0 and 1, 0 if it is not a number.
func unit(x float64) float64 {
	if x > 0 {
		return min(1, x)
	}
	return 0
}

// touches reports whether a candidate has anything of the question in it or next
// to it: a word, a likeness, a date. What only has the right speaker is not about
// it, however well another candidate answers.
func (q *asked) touches(c *view) bool {
	return c.lexical > 0 || c.related > 0 || c.vector > vectorFloor || len(q.Dates) > 0 || q.instances(c.Classes) > 0
}

func fuse(a *asked, candidates []memory.Candidate) []ranked {
	list := make([]ranked, len(candidates))
	for i := range candidates {
		r := &list[i]
		r.view = newView(&candidates[i])
		for j := range cues {
			r.fused += cues[j].weight * cues[j].value(a, &r.view)
		}
	}
	return list
}

func mostRelevant(list []ranked) float64 {
	var most float64
	for i := range list {
		most = max(most, list[i].relevance)
	}
	return most
}

// recency is 1 for what is of now and fades with age.
func recency(age time.Duration) float64 {
	return math.Exp(-max(0, age.Hours()/24) / ageScale)
}

// usualWhy is how many parts the Why of most candidates has at most: some six of
// a searcher, six of Rank's stages, and the cues that hold.
const usualWhy = 20

// explained returns the candidate with the numbers of cues and stages, written
// behind what is in backing already.
func (r *ranked) explained(a *asked, backing memory.Why) (memory.Candidate, memory.Why) {
	c, start := *r.Candidate, len(backing)
	c.Found.Each(func(name string, x float64) { backing = append(backing, memory.Part{Name: name, Value: x}) })
	for i := range cues {
		if x := cues[i].weight * cues[i].value(a, &r.view); x != 0 {
			backing = append(backing, memory.Part{Name: cueParts[i], Value: x})
		}
	}
	backing = append(backing,
		memory.Part{Name: "fused", Value: r.fused},
		memory.Part{Name: "relevance", Value: r.relevance},
		memory.Part{Name: "recency", Value: r.recency},
		memory.Part{Name: "confidence", Value: r.confidence},
		memory.Part{Name: "mmr", Value: r.mmr},
		memory.Part{Name: "score", Value: r.score})
	c.Why = backing[start:len(backing):len(backing)]
	c.Score = r.score
	return c, backing
}

func or(p *float64, fallback float64) float64 {
	if p == nil {
		return fallback
	}
	return *p
}
