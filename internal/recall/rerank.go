package recall

import "math"

// rerankShare is the weight of a reranker's log-odds relative to fusion's, in units of spread. Each
// sees what the other does not: fusion knows speakers, times and neighbours, a reranker words. It
// is set by hand, for lack of a reranker's weights to fit it with.
const rerankShare = 0.5

// halfWeightSpread is the standard deviation of a reranker's log-odds at which they count by half: nearly
// equal scores tell little about this question. Normalising by each reranker's own confidence would
// gain only a hundredth (see the random reranker in bench).
const halfWeightSpread = 0.5

// maxLogOdds bounds a reranker's log-odds: beyond it they are as good as certain.
const maxLogOdds = 12

// rerank adjusts candidates by a reranker's scores of some of them. Candidates of lower rank, which
// it did not see, count as the worst that it scored; equal scores change nothing.
func (o Options) rerank(list []ranked) {
	lowest, best := math.Inf(1), math.Inf(-1)
	for i := range list {
		r := &list[i]
		if score, ok := o.Reranked[r.ID]; ok && !math.IsNaN(float64(score)) { // NaN counts as no score
			r.reranked, r.rerank = true, clampUnit(float64(score))
			lowest, best = min(lowest, logit(r.rerank)), max(best, logit(r.rerank))
		}
	}
	if best < lowest {
		return // it scored none of these
	}
	share, nearest := rerankShare*discrimination(list), math.Inf(-1)
	for i := range list {
		r, x := &list[i], lowest
		if r.reranked {
			x = logit(r.rerank)
		}
		r.logOddsBehind += share * (x - best)
		nearest = max(nearest, r.logOddsBehind)
	}
	for i := range list {
		list[i].logOddsBehind -= nearest
	}
}

// discrimination returns the reranker's weight by the spread of its scores, 0 to 1.
func discrimination(list []ranked) float64 {
	var n, sum, squares float64
	for i := range list {
		if list[i].reranked {
			x := logit(list[i].rerank)
			n, sum, squares = n+1, sum+x, squares+x*x
		}
	}
	spread := max(0, squares/n-sum/n*(sum/n)) // below 0 only by rounding
	return spread / (spread + halfWeightSpread*halfWeightSpread)
}

// logit is the log-odds of a probability.
func logit(x float64) float64 {
	return max(-maxLogOdds, min(maxLogOdds, math.Log(x)-math.Log1p(-x)))
}
