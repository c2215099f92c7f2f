package recall

import "math"

// rerankWeight is the maximum weight of a reranker's log-odds relative to the fused log-odds. The
// fused score includes speakers, times and neighbours; a reranker sees only words. The value was set by hand,
// because no reranker was available for a fit.
const rerankWeight = 0.5

// halfWeightSpread is the standard deviation of a reranker's log-odds at which they have half of
// [rerankWeight]. A smaller spread has less weight, because nearly equal scores say little about the question.
const halfWeightSpread = 0.5

// maxLogOdds is the maximum of a reranker's log-odds. Higher values are practically certain.
const maxLogOdds = 12

// applyReranker adjusts logOddsBehind of the candidates by a reranker's scores. Candidates without a score get the
// lowest score. Equal scores change no candidate.
func (o RankOptions) applyReranker(list []rankedCandidate) {
	lowest, best := math.Inf(1), math.Inf(-1)
	for i := range list {
		r := &list[i]
		if score, ok := o.RerankScores[r.ID]; ok && !math.IsNaN(float64(score)) { // NaN counts as a missing score
			r.hasRerankScore, r.rerankScore = true, clampUnit(float64(score))
			lowest, best = min(lowest, logit(r.rerankScore)), max(best, logit(r.rerankScore))
		}
	}
	if best < lowest {
		return // the reranker scored none of the candidates
	}
	share, maxBehind := rerankWeight*rerankerReliability(list), math.Inf(-1)
	for i := range list {
		r, x := &list[i], lowest
		if r.hasRerankScore {
			x = logit(r.rerankScore)
		}
		r.logOddsBehind += share * (x - best)
		maxBehind = max(maxBehind, r.logOddsBehind)
	}
	for i := range list {
		list[i].logOddsBehind -= maxBehind
	}
}

// rerankerReliability returns the reranker's weight, 0 to 1, from the variance of its log-odds.
func rerankerReliability(list []rankedCandidate) float64 {
	var n, sum, squares float64
	for i := range list {
		if list[i].hasRerankScore {
			x := logit(list[i].rerankScore)
			n, sum, squares = n+1, sum+x, squares+x*x
		}
	}
	spread := max(0, squares/n-sum/n*(sum/n)) // negative only because of rounding
	return spread / (spread + halfWeightSpread*halfWeightSpread)
}

// logit returns the log-odds of a probability.
func logit(x float64) float64 {
	return max(-maxLogOdds, min(maxLogOdds, math.Log(x)-math.Log1p(-x)))
}
