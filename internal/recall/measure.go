package recall

import (
	"math"
	"time"

	"github.com/loci-memory/loci/memory"
)

// RelevanceMeasure selects the number that is used as relevance and compared with thresholds.
type RelevanceMeasure string

// The measures.
const (
	Fitted   RelevanceMeasure = ""         // the probability of an answer, computed from all cues
	Cosine   RelevanceMeasure = "cosine"   // the cosine of memory and question
	Reranker RelevanceMeasure = "reranker" // the reranker's score
)

// scoreByMeasure scores candidates by the cosine or the reranker's score, blended with recency, instead of by cues.
// With [Reranker], candidates without a reranker's score fail every threshold.
func (o RankOptions) scoreByMeasure(candidates []memory.Candidate, now time.Time, list []rankedCandidate) []rankedCandidate {
	w := clampUnit(valueOrDefault(o.RecencyWeight, defaultRecency))
	for i := range candidates {
		r := &list[i]
		r.candidateView, r.confidence = newCandidateView(&candidates[i]), 1
		r.relevance = clampUnit(r.cosine)
		r.relevanceMeasure = r.relevance
		if o.Measure == Reranker {
			score, shown := o.RerankScores[r.ID]
			r.hasRerankScore, r.rerankScore = shown, clampUnit(float64(score))
			r.relevance, r.relevanceMeasure = r.rerankScore, r.rerankScore
			if !shown {
				r.relevanceMeasure = math.Inf(-1)
			}
		}
		age := now.Sub(o.ageStart(r))
		r.recency = recency(age)
		r.score = (1-w)*r.relevance + w*r.recency
		if o.DecayTime > 0 {
			r.score = r.relevance * o.decayFactor(age)
		}
	}
	return list
}
