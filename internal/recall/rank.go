package recall

import (
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// Options are the settings of [Rank]. Pointers distinguish 0 from the default.
type Options struct {
	Limit     int      // how many to keep; 0: 20
	Threshold *float64 // relevance below which nothing is kept; nil: DefaultThreshold
	Recency   *float64 // weight of recency, 0 to 1; nil: 0.2
	Lambda    *float64 // of relevance against redundancy in diversifying; nil: 0.7
}

// Cut is a candidate that was left out, and the stage that did it.
type Cut struct {
	Candidate memory.Candidate
	Stage     string // "threshold" or "limit"
}

// ranked is a candidate on its way through the stages.
type ranked struct {
	*memory.Candidate
	fused, relevance, recency, score, mmr float64
}

// Rank orders candidates by what they are worth to the query at now, and returns
// those to show and those left out, both best first. Score and Why of what is
// returned hold the stages' numbers.
func Rank(q Query, candidates []memory.Candidate, o Options, now time.Time) (kept []memory.Candidate, cut []Cut) {
	a := newAsked(q, candidates)
	all := make([]ranked, len(candidates))
	for i := range candidates {
		all[i] = ranked{Candidate: &candidates[i]}
		all[i].fused = fuse(a, &candidates[i])
		all[i].relevance = calibrate(all[i].fused)
		all[i].recency = recency(now.Sub(candidates[i].At))
		w := or(o.Recency, defaultRecency)
		all[i].score = (1-w)*all[i].relevance + w*all[i].recency
	}
	slices.SortStableFunc(all, func(x, y ranked) int { return compare(y.score, x.score, x.ID, y.ID) })
	var relevant []ranked
	for _, r := range all {
		if r.relevance < or(o.Threshold, DefaultThreshold) {
			cut = append(cut, Cut{r.explained(a), "threshold"})
			continue
		}
		relevant = append(relevant, r)
	}
	limit := o.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	diversify(relevant, or(o.Lambda, defaultLambda), limit)
	for i, r := range relevant {
		if i < limit {
			kept = append(kept, r.explained(a))
			continue
		}
		cut = append(cut, Cut{r.explained(a), "limit"})
	}
	return kept, cut
}

func or(p *float64, fallback float64) float64 {
	if p == nil {
		return fallback
	}
	return *p
}

// compare orders by number, equal ones by id.
func compare(x, y float64, a, b string) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func fuse(a *asked, c *memory.Candidate) float64 {
	var sum float64
	for i := range cues {
		sum += cues[i].weight * cues[i].value(a, c)
	}
	return sum
}

// explained returns the candidate with the stages' numbers.
func (r ranked) explained(a *asked) memory.Candidate {
	c := *r.Candidate
	c.Why = slices.Clone(c.Why)
	for i := range cues {
		if x := cues[i].weight * cues[i].value(a, &c); x != 0 {
			c.Why = append(c.Why, memory.Part{Name: "cue." + cues[i].name, Value: x})
		}
	}
	c.Why = append(c.Why,
		memory.Part{Name: "fused", Value: r.fused}, memory.Part{Name: "relevance", Value: r.relevance},
		memory.Part{Name: "recency", Value: r.recency}, memory.Part{Name: "mmr", Value: r.mmr},
		memory.Part{Name: "score", Value: r.score})
	c.Score = r.score
	return c
}

const (
	defaultRecency = 0.2
	defaultLambda  = 0.7
	defaultLimit   = 20
	// ageScale is the age in days at which recency has fallen to 1/e.
	ageScale = 30
)

// recency is 1 for what is of now and fades with age.
func recency(age time.Duration) float64 {
	return math.Exp(-max(0, age.Hours()/24) / ageScale)
}

// diversifyAmong bounds the work: what stands further back is not reached anyway.
const diversifyAmong = 60

// diversify moves the best n to the front, each chosen for its score less its
// likeness to those before it (maximal marginal relevance). What is not reached
// keeps its order.
func diversify(list []ranked, lambda float64, n int) {
	among := list[:min(len(list), max(n, diversifyAmong))]
	likeness := make([]float64, len(among))
	for i := range among {
		if i >= n {
			return
		}
		best := i
		for j := i; j < len(among); j++ {
			among[j].mmr = lambda*among[j].score - (1-lambda)*likeness[j]
			if among[j].mmr > among[best].mmr {
				best = j
			}
		}
		// Rotate rather than swap, so that equals keep their order.
		chosen, its := among[best], likeness[best]
		copy(among[i+1:best+1], among[i:best])
		copy(likeness[i+1:best+1], likeness[i:best])
		among[i], likeness[i] = chosen, its
		for j := i + 1; j < len(among); j++ {
			likeness[j] = max(likeness[j], redundancy(chosen.Vector, among[j].Vector))
		}
	}
}

// redundancy is how alike two vectors are, 0 if either is missing or they are of
// different models.
func redundancy(a, b []uint16) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return 0
	}
	return max(0, float64(vector.DotHalves(a, b)))
}
