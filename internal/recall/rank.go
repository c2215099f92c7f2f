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
// questions of LoCoMo and refuses 15 % of those of another conversation, which are
// about the same things; 0.2 would keep 97 % and refuse 48 %. DefaultThreshold is
// far lower: where the best answers well, what stands behind it may complete the
// answer.
const (
	DefaultAnswered  = 0.1
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
	fused, relevance, recency, score, mmr float64
}

// Rank orders candidates by what they are worth to the query at now, and returns
// those to show and, for a trace, the best of those left out, at most as many as
// may be kept; both best first. Their Score is the blend of
// relevance and recency; Why has a part for each cue and stage. The input is left
// as it is.
func Rank(q Query, candidates []memory.Candidate, o Options, now time.Time) (kept []memory.Candidate, cut []Cut) {
	a := newAsked(q, candidates)
	list := o.score(a, candidates, now)
	slices.SortFunc(list, func(x, y ranked) int {
		if x.score != y.score {
			return cmp.Compare(y.score, x.score)
		}
		return cmp.Compare(x.ID, y.ID)
	})
	limit := o.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	leave := func(r ranked, stage string) {
		if len(cut) < limit {
			cut = append(cut, Cut{r.explained(a), stage})
		}
	}
	relevant := list[:0:0]
	stage, least := "threshold", or(o.Threshold, DefaultThreshold)
	if mostRelevant(list) < or(o.Answered, DefaultAnswered) {
		stage, least = "answered", math.Inf(1)
	}
	for _, r := range list {
		if r.relevance >= least {
			relevant = append(relevant, r)
		}
	}
	diversify(relevant, or(o.Lambda, defaultLambda), limit)
	for i, r := range relevant {
		if i < limit {
			kept = append(kept, r.explained(a))
			continue
		}
		leave(r, "limit")
	}
	for _, r := range list {
		if r.relevance < least {
			leave(r, stage)
		}
	}
	return kept, cut
}

// score takes candidates through fusion, calibration and the blend with recency.
func (o Options) score(a *asked, candidates []memory.Candidate, now time.Time) []ranked {
	list := fuse(a, candidates)
	l := newLineup(a, list)
	odds, w := l.odds(), or(o.Recency, defaultRecency)
	for i := range list {
		r := &list[i]
		if a.touches(&r.view) {
			r.relevance = sigmoid(odds + spread*(r.fused-l.best[0]))
		}
		r.recency = recency(now.Sub(r.At))
		r.score = (1-w)*r.relevance + w*r.recency
	}
	return list
}

// touches reports whether a candidate has anything of the question in it or next
// to it: a word, a likeness, a date. What only has the right speaker is not about
// it, however well another candidate answers.
func (q *asked) touches(c *view) bool {
	return c.lexical > 0 || c.related > 0 || c.vector > vectorFloor || len(q.Dates) > 0
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
	for _, r := range list {
		most = max(most, r.relevance)
	}
	return most
}

// recency is 1 for what is of now and fades with age.
func recency(age time.Duration) float64 {
	return math.Exp(-max(0, age.Hours()/24) / ageScale)
}

// explained returns the candidate with the numbers of cues and stages.
func (r ranked) explained(a *asked) memory.Candidate {
	c := *r.Candidate
	why := make(memory.Why, len(c.Why), len(c.Why)+len(cues)+5)
	copy(why, c.Why)
	for i := range cues {
		if x := cues[i].weight * cues[i].value(a, &r.view); x != 0 {
			why = append(why, memory.Part{Name: "cue." + cues[i].name, Value: x})
		}
	}
	c.Why = append(why,
		memory.Part{Name: "fused", Value: r.fused},
		memory.Part{Name: "relevance", Value: r.relevance},
		memory.Part{Name: "recency", Value: r.recency},
		memory.Part{Name: "mmr", Value: r.mmr},
		memory.Part{Name: "score", Value: r.score})
	c.Score = r.score
	return c
}

func or(p *float64, fallback float64) float64 {
	if p == nil {
		return fallback
	}
	return *p
}
