package recall

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Candidates is the number of candidates that a searcher should propose. More candidates do not improve the
// ranking (docs/design/ranking.md). Fewer candidates mean that the memory is small.
const Candidates = 160

// Options are the settings of [Rank]. The zero value, and each nil pointer, means the default.
type Options struct {
	Limit     int      // maximum number of results; 0 means 20
	Answered  *float64 // minimum relevance of the best candidate; below it there are no results; nil means DefaultAnswered
	Threshold *float64 // minimum relevance of each result; nil means DefaultThreshold
	Recency   *float64 // weight of recency in the score, 0 to 1; nil means 0.2
	Lambda    *float64 // weight of the score against redundancy, 0 to 1; nil means 0.7

	AgeFromStatement bool          // count age from the statement instead of the last change
	Decay            time.Duration // age at which relevance falls to 1/e, instead of recency; 0 means no decay

	// Background is the embedder's average cosine of unrelated texts (see [stretchOf]).
	Background float64
	Chat       bool // the question is a chat message, which may not need memory
	WordBased  bool // the embedder is word-based, so that similarity without common words is chance

	// Measure selects the relevance. With a measure other than Fitted, the score is only relevance and
	// recency, only MinRelevance rejects candidates, and any similarity counts as redundancy.
	Measure Measure

	// Reranked has a reranker's scores of candidates, 0 to 1, by id; nil means that no reranker ran. A
	// MinRelevance that is not nil then applies to these scores.
	Reranked map[string]float32
}

// The defaults. Loci shows about eight memories; twenty results suffice if hydration and the token budget drop some.
const (
	defaultLimit   = 20
	defaultRecency = 0.2
	defaultLambda  = 0.7
)

// DefaultAnswered is the probability of an answer below which a question has no results. On development data
// it keeps 99 % of the answerable questions. It rejects 25 % (LoCoMo), 18 % (BEAM) and 6 % (RealMem) of
// questions about another conversation. docs/measurements/retrieval.md lists other values. DefaultThreshold
// is much lower, because lower-ranked candidates may complete a good answer.
const (
	DefaultAnswered  = 0.07
	DefaultThreshold = 0.02
)

// minChatRelevance returns the minimum relevance of a hit in a chat: slightly less than halfway, in log-odds,
// between the threshold bar and the best hit. A vague message then gets hardly more than the best hit.
func minChatRelevance(bar, best float64) float64 {
	return sigmoid((logit(bar)+logit(best))/2 - belowHalf)
}

const belowHalf = 0.3

// ageScale is the age in days at which recency has fallen to 1/e.
const ageScale = 30

// Cut is a candidate that is not a result, with the stage that dropped it.
type Cut struct {
	ID    string
	Kind  memory.Kind
	Score float64
	Why   memory.Why
	Stage string // "answered", "threshold" or "limit"
}

// ranked is a candidate with the number that each stage computes.
type ranked struct {
	view
	fused, relevance, recency, confidence, score, mmr float64

	logOddsBehind    float64 // log-odds relative to the best candidate; 0 or less
	reranked         bool    // a reranker scored the candidate
	rerank           float64 // the reranker's score
	relevanceMeasure float64 // the number that Rank compares with the threshold

	redundant float64 // highest similarity to the chosen candidates, 0 to 1
	compared  int     // number of chosen candidates already compared
}

// Rank orders candidates by relevance and by recency at now, weighted by confidence, and returns the best
// candidates. cut has the best of the others for a trace, at most Limit. Why explains each score. Rank does
// not modify its input.
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
	// An explicit lower MinRelevance disables the check of the best candidate.
	if o.Measure == Fitted && best < min(bar, or(o.Threshold, bar)) {
		stage, least = "answered", math.Inf(1)
	}
	order, relevant := room.relevantFirst(list, least, relevance)
	bestFirst(order[:relevant], max(2*limit, diversifyAmong)) // later stages read no more candidates than these
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

// rankBuffers are the buffers of one ranking.
type rankBuffers struct {
	list   []ranked
	order  []*ranked
	chosen []float32 // the vectors of the candidates that diversify chose, concatenated
	parts  memory.Why
	ends   []int // for each candidate, the end of its parts

	stretch float64 // stretch factor of cosines
	repeats float64 // the minimum cosine of redundant memories
}

var rooms = sync.Pool{New: func() any { return new(rankBuffers) }}

// places returns n zero elements for the list of candidates.
func (m *rankBuffers) places(n int) []ranked {
	m.list = slices.Grow(m.list[:0], n)[:n]
	return m.list
}

// release drops the references to the candidates.
func (m *rankBuffers) release() {
	clear(m.list)
	clear(m.order)
	rooms.Put(m)
}

// relevantFirst moves the candidates that pass the threshold and have at least the given relevance to the
// front, and returns their number.
func (m *rankBuffers) relevantFirst(list []ranked, least, relevance float64) (_ []*ranked, relevant int) {
	m.order = slices.Grow(m.order[:0], len(list))[:len(list)]
	others := len(list)
	for i := range list {
		if r := &list[i]; r.relevanceMeasure >= least && r.relevance >= relevance {
			m.order[relevant] = r
			relevant++
		} else { // also if relevanceMeasure is NaN
			others--
			m.order[others] = r
		}
	}
	return m.order, relevant
}

// bestFirst moves the best n candidates to the front, the best first. n must be positive.
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

// before reports whether r ranks before other: by score, then by id.
func (r *ranked) before(other *ranked) bool {
	return r.score > other.score || r.score == other.score && r.ID < other.ID
}

// score computes the relevance of each candidate and blends it with recency and confidence.
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

// ageStart returns the time from which a candidate's age counts.
func (o Options) ageStart(r *ranked) time.Time {
	if (o.AgeFromStatement || o.Decay > 0) && !r.Said.IsZero() {
		return r.Said
	}
	return r.At
}

// decay returns the factor by which age reduces relevance (design 3, 5).
func (o Options) decay(age time.Duration) float64 {
	return math.Exp(-max(0, age.Hours()) / o.Decay.Hours())
}

// recencyWeight returns the weight of a candidate's recency, which falls with its log-odds behind the best
// candidate: of two answers the newer comes first, but a recent remark on another subject does not come
// before an older answer. It is 1 if only recency counts.
func recencyWeight(behind, weight float64) float64 {
	return weight + (1-weight)*math.Exp(2*behind)
}

// doubtCosts is the share of its score that a fact with confidence 0 loses.
const doubtCosts = 0.3

// confidenceFactor returns the factor by which a fact's confidence multiplies its score.
func confidenceFactor(confidence float64) float64 { return 1 - doubtCosts*(1-clampUnit(confidence)) }

// clampUnit limits x to the range 0 to 1. NaN becomes 0.
func clampUnit(x float64) float64 {
	if x > 0 {
		return min(1, x)
	}
	return 0
}

// relatesTo reports whether a candidate or its neighbours share a word, a similar meaning, a class or a date
// with the question. The speaker alone does not count.
func (q *scoredQuery) relatesTo(c *view) bool {
	return c.lexical > 0 || c.related > 0 || c.vector > q.likeness || q.dated(c) || q.instances(c.Classes) > 0
}

// fuse fills places with the candidates and their sums of cues. places must have zero values and the length
// of candidates.
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

// recency returns 1 for age 0 and 1/e at [ageScale].
func recency(age time.Duration) float64 {
	return math.Exp(-max(0, age.Hours()/24) / ageScale)
}

// explanations holds the explanations of all results in one slice, and returns them one by one.
type explanations struct {
	parts memory.Why
	ends  []int
	start int
}

// explain returns the explanation of each score in the list.
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

// explain appends the numbers of the searcher, the cues and the stages to an explanation.
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
