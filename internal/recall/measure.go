package recall

import (
	"math"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Measure is what the relevance of a memory is, and so what thresholds are on.
type Measure string

// The measures.
const (
	Fitted   Measure = ""         // the chance that it answers, by all cues
	Cosine   Measure = "cosine"   // its cosine with the question
	Reranker Measure = "reranker" // what a reranker says of it
)

// plain scores candidates by one number, blended with recency and nothing else: the designs'
// own scores. What a reranker was not shown has no number, and stays out.
func (o Options) plain(candidates []memory.Candidate, now time.Time, places []ranked) []ranked {
	w := unit(or(o.Recency, defaultRecency))
	for i := range candidates {
		r := &places[i]
		r.view, r.confidence = newView(&candidates[i]), 1
		r.relevance = unit(r.vector)
		r.judged = r.relevance
		if o.Measure == Reranker {
			said, shown := o.Reranked[r.ID]
			r.reranked, r.rerank = shown, unit(float64(said))
			r.relevance, r.judged = r.rerank, r.rerank
			if !shown {
				r.judged = math.Inf(-1)
			}
		}
		age := now.Sub(o.since(r))
		r.recency = recency(age)
		r.score = (1-w)*r.relevance + w*r.recency
		if o.Decay > 0 {
			r.score = r.relevance * o.decay(age)
		}
	}
	return places
}
