package recall

import "math"

// rerankShare is what a reranker's log-odds count beside those of fusion, of which one
// unit is spread. Fusion sees what a pair of texts does not show (who speaks, when,
// what stands around), a reranker what words do not: neither replaces the other. It is
// set by hand: no published reranker's weights were at hand to fit it.
const rerankShare = 0.5

// faint is the spread of a reranker's log-odds, as their standard deviation, at which
// they count by half: one that says nearly the same of all knows next to nothing about
// this question. One that knows how sure it may be is spread less only where it would
// gain a hundredth. See the reranker by chance in bench.
const faint = 0.5

// surest bounds a reranker's log-odds: what is beyond is as good as certain.
const surest = 12

// rerank moves candidates by what a reranker said of some of them. The others, which
// it was not shown since they stood behind, count as the worst that it was shown. A
// reranker that says the same of all moves nothing.
func (o Options) rerank(list []ranked) {
	lowest, best := math.Inf(1), math.Inf(-1)
	for i := range list {
		r := &list[i]
		if said, ok := o.Reranked[r.ID]; ok && !math.IsNaN(float64(said)) { // which is as good as unsaid
			r.reranked, r.rerank = true, unit(float64(said))
			lowest, best = min(lowest, logit(r.rerank)), max(best, logit(r.rerank))
		}
	}
	if best < lowest {
		return // it was shown none of these
	}
	share, nearest := rerankShare*told(list), math.Inf(-1)
	for i := range list {
		r, x := &list[i], lowest
		if r.reranked {
			x = logit(r.rerank)
		}
		r.behind += share * (x - best)
		nearest = max(nearest, r.behind)
	}
	for i := range list {
		list[i].behind -= nearest
	}
}

// told returns how much of its weight a reranker has by what it tells apart, 0 to 1.
func told(list []ranked) float64 {
	var n, sum, squares float64
	for i := range list {
		if list[i].reranked {
			x := logit(list[i].rerank)
			n, sum, squares = n+1, sum+x, squares+x*x
		}
	}
	spread := max(0, squares/n-sum/n*(sum/n)) // below 0 only by rounding
	return spread / (spread + faint*faint)
}

// logit is the logarithm of the odds that x is a chance of.
func logit(x float64) float64 {
	return max(-surest, min(surest, math.Log(x)-math.Log1p(-x)))
}
