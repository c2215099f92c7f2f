package recall

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Candidates is how many candidates a searcher should propose: more improve neither the cues nor
// the signs of an answer (docs/design/ranking.md). Fewer mean that memory is small.
const Candidates = 160

// Options are the settings of [Rank]. The zero value means the defaults; pointers distinguish 0
// from the default.
type Options struct {
	Limit     int      // the most to keep; 0: 20
	Answered  *float64 // least relevance of the best for any result; nil: DefaultAnswered
	Threshold *float64 // least relevance of each; nil: DefaultThreshold
	Recency   *float64 // weight of recency in the score, 0 to 1; nil: 0.2
	Lambda    *float64 // weight of the score against redundancy; nil: 0.7

	AgeFromStatement bool          // age counts from the statement, not from its last change
	Decay            time.Duration // time in which relevance falls to 1/e since the statement, instead of the blend with recency; 0: no decay

	// Background is the embedder's cosine of unrelated texts (see [stretchOf]).
	Background float64
	Chat       bool // the question is a chat message, which may need no memory
	WordBased  bool // the embedder is word-based: similarity without common words is chance

	// Measure selects relevance. Other than with Fitted, the score is only relevance and recency,
	// only Threshold rejects, and all similarity is redundancy.
	Measure Measure

	// Reranked has a reranker's scores of some candidates, 0 to 1 by id; nil: none ran. A non-nil
	// Threshold then applies to this number.
	Reranked map[string]float32
}

// The defaults. Loci shows a handful of memories; twenty leave room for removals by hydration and
// the token budget.
const (
	defaultLimit   = 20
	defaultRecency = 0.2
	defaultLambda  = 0.7
)

// DefaultAnswered is the probability below which a question counts as unanswerable and nothing is
// shown: on development data it keeps 99 % of the answerable questions, and rejects 25 % (LoCoMo),
// 18 % (BEAM) and 6 % (RealMem) of those from another conversation. docs/measurements/retrieval.md has other bars.
// DefaultThreshold is far lower: lower-ranked candidates may complete a good answer.
const (
	DefaultAnswered  = 0.07
	DefaultThreshold = 0.02
)

// minChatRelevance is the least relevance of a hit in a chat: slightly less than halfway, in log-odds,
// between the bar and the best. So a vague message gets hardly more than the best hit, and a clear
// question gets additions to its answer.
func minChatRelevance(bar, best float64) float64 {
	return sigmoid((logit(bar)+logit(best))/2 - belowHalf)
}

const belowHalf = 0.3

// ageScale is the age in days at which recency has fallen to 1/e.
const ageScale = 30

// Cut is a candidate that was left out, and the stage that dropped it.
type Cut struct {
	ID    string
	Kind  memory.Kind
	Score float64
	Why   memory.Why
	Stage string // "answered", "threshold" or "limit"
}

// ranked is a candidate with a number for each stage.
type ranked struct {
	view
	fused, relevance, recency, confidence, score, mmr float64

	logOddsBehind    float64 // log-odds relative to the best; 0 or less
	reranked         bool    // a reranker scored it
	rerank           float64 // the reranker's score
	relevanceMeasure float64 // the number that the threshold applies to

	redundant float64 // with those chosen so far
	compared  int     // how many of them it was compared with
}

// Rank orders candidates by relevance and recency at now, weighted by confidence, and returns those
// to show. cut has the best of the others for a trace, at most as many as may be kept. Why explains
// each score; the input is not modified.
func Rank(q Query, candidates []memory.Candidate, o Options, now time.Time) (kept []memory.Candidate, cut []Cut) {
	if len(candidates) == 0 {
		return nil, nil
	}
	a := newScoredQuery(q, candidates, o)
	room := rooms.Get().(*rankBuffers)
	room.stretch, room.repeats = a.stretch, redundantFrom
	if o.Measure != Fitted {
		a.cues, room.stretch, room.repeats, o.Chat = nil, 1, 0, false
	}
	defer room.release()
	list := o.score(a, candidates, now, room.places(len(candidates)))
	limit := o.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	stage, least := "threshold", or(o.Threshold, DefaultThreshold)
	bar, best, relevance := or(o.Answered, DefaultAnswered), mostRelevant(list), 0.0
	if o.Chat && best > bar {
		relevance = minChatRelevance(bar, best)
	}
	// A lower Threshold explicitly asks for all results.
	if o.Measure == Fitted && best < min(bar, or(o.Threshold, bar)) {
		stage, least = "answered", math.Inf(1)
	}
	order, relevant := room.relevantFirst(list, least, relevance)
	bestFirst(order[:relevant], max(2*limit, diversifyAmong)) // no later stage reads further
	bestFirst(order[relevant:], limit)
	room.diversify(order[:relevant], or(o.Lambda, defaultLambda), limit)
	showing := min(limit, relevant)
	others := order[showing:min(len(order), showing+limit)]
	if showing > 0 {
		kept = make([]memory.Candidate, showing)
	}
	if len(others) > 0 {
		cut = make([]Cut, len(others))
	}
	whys := room.explain(a, order[:showing+len(others)])
	for i, r := range order[:showing] {
		kept[i] = *r.Candidate
		kept[i].Score, kept[i].Why = r.score, whys.next()
	}
	for i, r := range others {
		cut[i] = Cut{ID: r.ID, Kind: r.Kind, Score: r.score, Why: whys.next(), Stage: stage}
		if showing+i < relevant {
			cut[i].Stage = "limit"
		}
	}
	return kept, cut
}

// rankBuffers holds the buffers of one ranking.
type rankBuffers struct {
	list   []ranked
	order  []*ranked
	chosen []float32 // vectors chosen by diversify, concatenated
	parts  memory.Why
	ends   []int // the ends of each vector's parts

	stretch float64 // of cosines
	repeats float64 // the cosine from which on similarity is redundancy
}

var rooms = sync.Pool{New: func() any { return new(rankBuffers) }}

// places returns n zero places of the list.
func (m *rankBuffers) places(n int) []ranked {
	m.list = slices.Grow(m.list[:0], n)[:n]
	return m.list
}

// release releases the candidates.
func (m *rankBuffers) release() {
	clear(m.list)
	clear(m.order)
	rooms.Put(m)
}

// relevantFirst moves the candidates that pass the threshold and have at least that relevance to
// the front, and counts them.
func (m *rankBuffers) relevantFirst(list []ranked, least, relevance float64) (_ []*ranked, relevant int) {
	m.order = slices.Grow(m.order[:0], len(list))[:len(list)]
	others := len(list)
	for i := range list {
		if r := &list[i]; r.relevanceMeasure >= least && r.relevance >= relevance {
			m.order[relevant] = r
			relevant++
		} else { // or NaN
			others--
			m.order[others] = r
		}
	}
	return m.order, relevant
}

// bestFirst moves the best n, at least one, to the front, best first.
func bestFirst(list []*ranked, n int) {
	n = min(n, len(list))
	for i, r := range list {
		if i >= n && !r.before(list[n-1]) {
			continue
		}
		place := min(i, n-1)
		list[i] = list[place]
		for ; place > 0 && r.before(list[place-1]); place-- {
			list[place] = list[place-1]
		}
		list[place] = r
	}
}

// before orders by score, then by id.
func (r *ranked) before(other *ranked) bool {
	return r.score > other.score || r.score == other.score && r.ID < other.ID
}

// score fuses, calibrates and blends candidates with recency and confidence.
func (o Options) score(a *scoredQuery, candidates []memory.Candidate, now time.Time, places []ranked) []ranked {
	if o.Measure != Fitted {
		return o.scoreByMeasure(candidates, now, places)
	}
	list := fuse(a, candidates, places)
	l := newCandidateSet(a, list)
	odds, w := l.odds(), clampUnit(or(o.Recency, defaultRecency))
	if o.Chat {
		odds = chatOdds(odds, a.Needs)
	}
	for i := range list {
		list[i].logOddsBehind = spread * (list[i].fused - l.top)
	}
	if o.Reranked != nil {
		o.rerank(list)
	}
	for i := range list {
		r := &list[i]
		if a.relatesTo(&r.view) {
			r.relevance = sigmoid(odds + r.logOddsBehind)
		}
		r.relevanceMeasure = r.relevance
		if o.Reranked != nil && o.Threshold != nil {
			r.relevanceMeasure = r.rerank
		}
	}
	for i := range list {
		r := &list[i]
		r.recency = recency(now.Sub(o.ageStart(r)))
		r.confidence = confidenceFactor(r.Confidence)
		r.score = ((1-w)*r.relevance + w*r.recency*recencyWeight(r.logOddsBehind, w)) * r.confidence
		if o.Decay > 0 {
			r.score = r.relevance * o.decay(now.Sub(o.ageStart(r))) * r.confidence
		}
	}
	return list
}

// ageStart is the start of a candidate's age.
func (o Options) ageStart(r *ranked) time.Time {
	if (o.AgeFromStatement || o.Decay > 0) && !r.Said.IsZero() {
		return r.Said
	}
	return r.At
}

// decay is the factor of relevance at an age (design 3, 5).
func (o Options) decay(age time.Duration) float64 {
	return math.Exp(-max(0, age.Hours()) / o.Decay.Hours())
}

// recencyWeight is the weight of a candidate's recency, reduced by its distance from the best in log-odds.
// Of two answers the newer comes first, but yesterday's remark on another subject does not precede
// last year's answer. It is 1 if only recency counts.
func recencyWeight(behind, weight float64) float64 {
	return weight + (1-weight)*math.Exp(2*behind)
}

// doubtCosts is the share of its score that a fact of no confidence loses.
const doubtCosts = 0.3

// confidenceFactor is the factor of confidence. 0 means an unknown confidence, which is the same for all
// candidates of a searcher.
func confidenceFactor(confidence float64) float64 { return 1 - doubtCosts*(1-clampUnit(confidence)) }

// clampUnit limits x to 0 to 1, 0 for NaN.
func clampUnit(x float64) float64 {
	if x > 0 {
		return min(1, x)
	}
	return 0
}

// relatesTo reports whether a candidate or its neighbours share a word, a similar meaning or a date
// with the question. The right speaker alone does not count.
func (q *scoredQuery) relatesTo(c *view) bool {
	return c.lexical > 0 || c.related > 0 || c.vector > q.likeness || q.dated(c) || q.instances(c.Classes) > 0
}

// fuse fills places, zero and as many as candidates, with the candidates and their sums of cues.
func fuse(a *scoredQuery, candidates []memory.Candidate, places []ranked) []ranked {
	for i := range candidates {
		r := &places[i]
		r.view = newView(&candidates[i])
		r.vector = stretched(r.vector, a.stretch)
		for _, j := range a.cues {
			r.fused += a.contribution(j, &r.view)
		}
	}
	return places
}

func mostRelevant(list []ranked) float64 {
	var most float64
	for i := range list {
		most = max(most, list[i].relevance)
	}
	return most
}

// recency is 1 for now and falls with age.
func recency(age time.Duration) float64 {
	return math.Exp(-max(0, age.Hours()/24) / ageScale)
}

// explanations are explanations in one allocation.
type explanations struct {
	parts memory.Why
	ends  []int
	start int
}

// explain returns why each of the list has its score.
func (m *rankBuffers) explain(a *scoredQuery, list []*ranked) *explanations {
	m.parts, m.ends = m.parts[:0], m.ends[:0]
	for _, r := range list {
		m.parts = r.explain(a, m.parts)
		m.ends = append(m.ends, len(m.parts))
	}
	return &explanations{parts: slices.Clone(m.parts), ends: m.ends}
}

func (w *explanations) next() memory.Why {
	end := w.ends[0]
	why := w.parts[w.start:end:end]
	w.start, w.ends = end, w.ends[1:]
	return why
}

// explain adds the numbers of the searcher, the cues and the stages.
func (r *ranked) explain(a *scoredQuery, why memory.Why) memory.Why {
	r.Found.Each(func(name string, x float64) { why = append(why, memory.Part{Name: name, Value: x}) })
	for _, i := range a.cues {
		if x := a.contribution(i, &r.view); x != 0 {
			why = append(why, memory.Part{Name: cueParts()[i], Value: x})
		}
	}
	if len(a.cues) > 0 {
		why = append(why, memory.Part{Name: "fused", Value: r.fused})
	}
	if r.reranked {
		why = append(why, memory.Part{Name: "rerank", Value: r.rerank})
	}
	return append(why,
		memory.Part{Name: "relevance", Value: r.relevance},
		memory.Part{Name: "recency", Value: r.recency},
		memory.Part{Name: "confidence", Value: r.confidence},
		memory.Part{Name: "mmr", Value: r.mmr},
		memory.Part{Name: "score", Value: r.score})
}

func or(p *float64, fallback float64) float64 {
	if p == nil {
		return fallback
	}
	return *p
}
