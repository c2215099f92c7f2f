package recall

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// CandidateCount is the number of candidates that a searcher should propose. More candidates do not improve the
// ranking (docs/design/ranking.md). A searcher that proposes fewer found no more.
const CandidateCount = 160

// RankOptions are the settings of [Rank]. The zero value, and each nil pointer, means the default.
type RankOptions struct {
	Limit              int      // maximum number of results; 0 means 20
	MinAnswerRelevance *float64 // minimum relevance of the best candidate; below it there are no results; nil means DefaultMinAnswerRelevance
	MinRelevance       *float64 // minimum relevance of each result; nil means DefaultMinRelevance
	RecencyWeight      *float64 // weight of recency in the score, 0 to 1; nil means 0.2
	Lambda             *float64 // weight of the score against redundancy, 0 to 1; nil means 0.7

	AgeFromStatement bool          // count a fact's age from its statement instead of its last change
	DecayTime        time.Duration // age at which relevance falls to 1/e, instead of recency; 0 means no decay

	// BackgroundCosine is the embedder's average cosine of unrelated texts (see [stretchFactor]).
	BackgroundCosine float64
	IsChat           bool // the question is a chat message, which may not need memory
	IsWordBased      bool // the embedder is word-based, so that similarity without common words is chance

	// Measure selects the relevance. With a measure other than Fitted, the score is only relevance and
	// recency, only MinRelevance rejects candidates, and any similarity counts as redundancy.
	Measure RelevanceMeasure

	// RerankScores has a reranker's scores of candidates, 0 to 1, by id; nil means that no reranker ran. A
	// MinRelevance that is not nil then applies to these scores.
	RerankScores map[string]float32
}

// The defaults. Loci shows about eight memories; twenty results suffice if loading and the token budget drop some.
const (
	defaultLimit   = 20
	defaultRecency = 0.2
	defaultLambda  = 0.7
)

// DefaultMinAnswerRelevance is the probability of an answer below which a question has no results. On development data
// it keeps 99 % of the answerable questions. It rejects 25 % (LoCoMo), 18 % (BEAM) and 6 % (RealMem) of
// questions about another conversation. docs/measurements/retrieval.md lists other values. DefaultMinRelevance
// is much lower, because lower-ranked candidates may complete a good answer.
const (
	DefaultMinAnswerRelevance = 0.07
	DefaultMinRelevance       = 0.02
)

// minChatRelevance returns the minimum relevance of a hit in a chat: in log-odds, the mean of threshold and best (the
// best hit's relevance) minus chatMargin. A vague message then gets hardly more than the best hit.
func minChatRelevance(threshold, best float64) float64 {
	return sigmoid((logit(threshold)+logit(best))/2 - chatMargin)
}

const chatMargin = 0.3

// ageScaleDays is the age in days at which recency has fallen to 1/e.
const ageScaleDays = 30

// CutCandidate is a candidate that is not a result, with the stage that dropped it.
type CutCandidate struct {
	ID    string
	Kind  memory.Kind
	Score float64
	Why   memory.Why
	Stage string // "answered", "threshold" or "limit"
}

// rankedCandidate is a candidate with the number that each stage computes.
type rankedCandidate struct {
	candidateView
	fusedScore, relevance, recency, confidence, score, diversifiedScore float64 // diversifiedScore is the score minus redundancy

	logOddsBehind    float64 // log-odds relative to the best candidate; 0 or less
	hasRerankScore   bool    // a reranker scored the candidate
	rerankScore      float64 // the reranker's score
	relevanceMeasure float64 // the number that [Rank] compares with the threshold

	redundancy    float64 // highest similarity to the chosen candidates, 0 to 1
	comparedCount int     // number of chosen candidates already compared
}

// Rank orders candidates by relevance and by recency at now, weighted by confidence, and returns the best
// candidates. cutCandidates has the best of the others for a trace, at most Limit. Why explains each score. Rank does
// not modify its input.
func Rank(q Query, candidates []memory.Candidate, o RankOptions, now time.Time) (kept []memory.Candidate, cutCandidates []CutCandidate) {
	if len(candidates) == 0 {
		return nil, nil
	}
	a := newScoredQuery(q, candidates, o)
	buffers := bufferPool.Get().(*rankBuffers)
	buffers.stretch, buffers.minRedundantCosine = a.stretch, minRedundantCosine
	if o.Measure != Fitted {
		a.cues, buffers.stretch, buffers.minRedundantCosine, o.IsChat = nil, 1, 0, false
	}
	defer buffers.returnToPool()
	list := o.scoreAll(a, candidates, now, buffers.zeroedList(len(candidates)))
	limit := o.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	stage, minMeasure := "threshold", valueOrDefault(o.MinRelevance, DefaultMinRelevance)
	threshold, best, relevance := valueOrDefault(o.MinAnswerRelevance, DefaultMinAnswerRelevance), maxRelevance(list), 0.0
	if o.IsChat && best > threshold {
		relevance = minChatRelevance(threshold, best)
	}
	// An explicit lower MinRelevance disables the check of the best candidate.
	if o.Measure == Fitted && best < min(threshold, valueOrDefault(o.MinRelevance, threshold)) {
		stage, minMeasure = "answered", math.Inf(1)
	}
	order, relevant := buffers.moveRelevantFirst(list, minMeasure, relevance)
	moveBestFirst(order[:relevant], max(2*limit, maxDiversified)) // later stages read no more candidates than these
	moveBestFirst(order[relevant:], limit)
	buffers.diversify(order[:relevant], valueOrDefault(o.Lambda, defaultLambda), limit)
	shown := min(limit, relevant)
	others := order[shown:min(len(order), shown+limit)]
	if shown > 0 {
		kept = make([]memory.Candidate, shown)
	}
	if len(others) > 0 {
		cutCandidates = make([]CutCandidate, len(others))
	}
	whys := buffers.explain(a, order[:shown+len(others)])
	for i, r := range order[:shown] {
		kept[i] = *r.Candidate
		kept[i].Score, kept[i].Why = r.score, whys.nextWhy()
	}
	for i, r := range others {
		cutCandidates[i] = CutCandidate{ID: r.ID, Kind: r.Kind, Score: r.score, Why: whys.nextWhy(), Stage: stage}
		if shown+i < relevant {
			cutCandidates[i].Stage = "limit"
		}
	}
	return kept, cutCandidates
}

// rankBuffers are the buffers of one ranking.
type rankBuffers struct {
	list          []rankedCandidate
	ranking       []*rankedCandidate
	chosenVectors []float32 // the vectors of the candidates that diversify chose, concatenated
	parts         memory.Why
	partEnds      []int // for each explained candidate, the end index of its parts in the field parts

	stretch            float64 // factor by which a cosine's distance from 1 grows (see [stretchFactor])
	minRedundantCosine float64 // the minimum cosine of redundant memories
}

var bufferPool = sync.Pool{New: func() any { return new(rankBuffers) }}

// zeroedList returns n zero elements for the list of candidates.
func (m *rankBuffers) zeroedList(n int) []rankedCandidate {
	m.list = slices.Grow(m.list[:0], n)[:n]
	return m.list
}

// returnToPool returns the buffers to the pool without references to the candidates.
func (m *rankBuffers) returnToPool() {
	clear(m.list)
	clear(m.ranking)
	bufferPool.Put(m)
}

// moveRelevantFirst moves the candidates that have at least minMeasure and minRelevance to the front, and returns
// their number.
func (m *rankBuffers) moveRelevantFirst(list []rankedCandidate, minMeasure, minRelevance float64) (_ []*rankedCandidate, relevantCount int) {
	m.ranking = slices.Grow(m.ranking[:0], len(list))[:len(list)]
	others := len(list)
	for i := range list {
		if r := &list[i]; r.relevanceMeasure >= minMeasure && r.relevance >= minRelevance {
			m.ranking[relevantCount] = r
			relevantCount++
		} else { // too low, or NaN
			others--
			m.ranking[others] = r
		}
	}
	return m.ranking, relevantCount
}

// moveBestFirst moves the best n candidates to the front, the best first. n must be positive.
func moveBestFirst(list []*rankedCandidate, n int) {
	n = min(n, len(list))
	for i, r := range list {
		if i >= n && !r.ranksBefore(list[n-1]) {
			continue
		}
		place := min(i, n-1)
		list[i] = list[place]
		for ; place > 0 && r.ranksBefore(list[place-1]); place-- {
			list[place] = list[place-1]
		}
		list[place] = r
	}
}

// ranksBefore reports whether r ranks before other: by score, then by id.
func (r *rankedCandidate) ranksBefore(other *rankedCandidate) bool {
	return r.score > other.score || r.score == other.score && r.ID < other.ID
}

// scoreAll computes the relevance of each candidate and blends it with recency and confidence.
func (o RankOptions) scoreAll(a *scoredQuery, candidates []memory.Candidate, now time.Time, buffer []rankedCandidate) []rankedCandidate {
	if o.Measure != Fitted {
		return o.scoreByMeasure(candidates, now, buffer)
	}
	list := addCues(a, candidates, buffer)
	l := newCandidateMaxima(a, list)
	odds, w := l.logOdds(), clampUnit(valueOrDefault(o.RecencyWeight, defaultRecency))
	if o.IsChat {
		odds = chatLogOdds(odds, a.NeedLogOdds)
	}
	for i := range list {
		list[i].logOddsBehind = logOddsPerScore * (list[i].fusedScore - l.bestFusedScore)
	}
	if o.RerankScores != nil {
		o.applyReranker(list)
	}
	for i := range list {
		r := &list[i]
		if a.relatesTo(&r.candidateView) {
			r.relevance = sigmoid(odds + r.logOddsBehind)
		}
		r.relevanceMeasure = r.relevance
		if o.RerankScores != nil && o.MinRelevance != nil {
			r.relevanceMeasure = r.rerankScore
		}
	}
	for i := range list {
		r := &list[i]
		r.recency = recency(now.Sub(o.ageStart(r)))
		r.confidence = confidenceFactor(r.Confidence)
		r.score = ((1-w)*r.relevance + w*r.recency*recencyWeight(r.logOddsBehind, w)) * r.confidence
		if o.DecayTime > 0 {
			r.score = r.relevance * o.decayFactor(now.Sub(o.ageStart(r))) * r.confidence
		}
	}
	return list
}

// ageStart returns the time from which a candidate's age counts.
func (o RankOptions) ageStart(r *rankedCandidate) time.Time {
	if (o.AgeFromStatement || o.DecayTime > 0) && !r.StatedAt.IsZero() {
		return r.StatedAt
	}
	return r.At
}

// decayFactor returns the factor by which age reduces relevance.
func (o RankOptions) decayFactor(age time.Duration) float64 {
	return math.Exp(-max(0, age.Hours()) / o.DecayTime.Hours())
}

// recencyWeight returns the weight of a candidate's recency, which falls with its log-odds behind the best
// candidate: of two answers the newer comes first, but a recent remark on another subject does not come
// before an older answer. With recencyShare 1, only recency counts, so the weight is 1.
func recencyWeight(logOddsBehind, recencyShare float64) float64 {
	return recencyShare + (1-recencyShare)*math.Exp(2*logOddsBehind)
}

// maxDoubtLoss is the share of its score that a fact with confidence 0 loses.
const maxDoubtLoss = 0.3

// confidenceFactor returns the factor by which a fact's confidence multiplies its score.
func confidenceFactor(confidence float64) float64 { return 1 - maxDoubtLoss*(1-clampUnit(confidence)) }

// clampUnit limits x to the range 0 to 1. NaN becomes 0.
func clampUnit(x float64) float64 {
	if x > 0 {
		return min(1, x)
	}
	return 0
}

// relatesTo reports whether a candidate or its neighbours share a word, a similar meaning, a class or a date
// with the question. The speaker alone does not count.
func (q *scoredQuery) relatesTo(c *candidateView) bool {
	return c.wordScore > 0 || c.relatedScore > 0 || c.cosine > q.relatedCosine || q.matchesDate(c) || q.classShare(c.Classes) > 0
}

// addCues fills list with the candidates and their sums of cues. list must have zero values and the length of
// candidates.
func addCues(a *scoredQuery, candidates []memory.Candidate, list []rankedCandidate) []rankedCandidate {
	for i := range candidates {
		r := &list[i]
		r.candidateView = newCandidateView(&candidates[i])
		r.cosine = stretchCosine(r.cosine, a.stretch)
		for _, j := range a.cues {
			r.fusedScore += a.weightedValue(j, &r.candidateView)
		}
	}
	return list
}

func maxRelevance(list []rankedCandidate) float64 {
	var most float64
	for i := range list {
		most = max(most, list[i].relevance)
	}
	return most
}

// recency returns 1 for age 0 and 1/e at [ageScaleDays].
func recency(age time.Duration) float64 {
	return math.Exp(-max(0, age.Hours()/24) / ageScaleDays)
}

// explanations holds the explanations of all results in one slice, and returns them one by one.
type explanations struct {
	parts    memory.Why
	partEnds []int
	start    int
}

// explain returns the explanation of each score in the list.
func (m *rankBuffers) explain(a *scoredQuery, list []*rankedCandidate) *explanations {
	m.parts, m.partEnds = m.parts[:0], m.partEnds[:0]
	for _, r := range list {
		m.parts = r.appendParts(a, m.parts)
		m.partEnds = append(m.partEnds, len(m.parts))
	}
	return &explanations{parts: slices.Clone(m.parts), partEnds: m.partEnds}
}

func (w *explanations) nextWhy() memory.Why {
	end := w.partEnds[0]
	why := w.parts[w.start:end:end]
	w.start, w.partEnds = end, w.partEnds[1:]
	return why
}

// appendParts appends the numbers of the searcher, the cues and the stages to an explanation.
func (r *rankedCandidate) appendParts(a *scoredQuery, why memory.Why) memory.Why {
	r.Measures.Each(func(name string, x float64) { why = append(why, memory.ScorePart{Name: name, Value: x}) })
	for _, i := range a.cues {
		if x := a.weightedValue(i, &r.candidateView); x != 0 {
			why = append(why, memory.ScorePart{Name: cuePartNames()[i], Value: x})
		}
	}
	if len(a.cues) > 0 {
		why = append(why, memory.ScorePart{Name: "fused", Value: r.fusedScore})
	}
	if r.hasRerankScore {
		why = append(why, memory.ScorePart{Name: "rerank", Value: r.rerankScore})
	}
	return append(why,
		memory.ScorePart{Name: "relevance", Value: r.relevance},
		memory.ScorePart{Name: "recency", Value: r.recency},
		memory.ScorePart{Name: "confidence", Value: r.confidence},
		memory.ScorePart{Name: "mmr", Value: r.diversifiedScore},
		memory.ScorePart{Name: "score", Value: r.score})
}

func valueOrDefault(p *float64, fallback float64) float64 {
	if p == nil {
		return fallback
	}
	return *p
}
