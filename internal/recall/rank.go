package recall

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Candidates is how many a searcher is to propose: among more the cues find nothing that
// is better, nor the signs of an answer anything that tells more (docs/design/ranking.md). Where
// it proposes fewer, there are few.
const Candidates = 160

// Options are the settings of [Rank]. The zero value means the defaults; a pointer
// tells 0 from the default.
type Options struct {
	Limit     int      // how many to keep; 0: 20
	Answered  *float64 // relevance that the best must have for anything to be kept; nil: DefaultAnswered
	Threshold *float64 // relevance that each must have; nil: DefaultThreshold
	Recency   *float64 // weight of recency in the score, 0 to 1; nil: 0.2
	Lambda    *float64 // weight of the score against redundancy; nil: 0.7

	SinceSaid bool          // age counts from when something was said, not from its last change
	Decay     time.Duration // in which relevance falls to 1/e with age since it was said, instead of the blend with recency; 0: it does not

	// Background is the cosine of unrelated texts by the embedder (see [stretchOf]).
	Background float64
	Chat       bool // the question is a message of a chat, which may ask nothing of memory
	OfWords    bool // by the embedder texts that share no word are near by chance alone

	// Measure is what relevance is. By another than Fitted the score is relevance and recency
	// alone, nothing is refused but by Threshold, and all likeness is redundancy.
	Measure Measure

	// Reranked is what a reranker said of some candidates, 0 to 1 by id; nil: none
	// was asked. A Threshold that is not nil is then one on this number.
	Reranked map[string]float32
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
// questions and refuses 25 % (LoCoMo), 18 % (BEAM) and 6 % (RealMem) of those of
// another conversation, which are about the same things; docs/measurements/retrieval.md has what
// other bars give. DefaultThreshold is far lower: where the best answers well, what
// stands behind it may complete the answer.
const (
	DefaultAnswered  = 0.07
	DefaultThreshold = 0.02
)

// halfway is the relevance that a hit needs in a chat: its log-odds are at least halfway between
// those of the bar and of the best, less a little. So a message that may ask nothing of memory gets
// hardly more than the best hit, and one that surely does gets what may complete the answer.
func halfway(bar, best float64) float64 {
	return sigmoid((logit(bar)+logit(best))/2 - belowHalf)
}

const belowHalf = 0.3

// ageScale is the age in days at which recency has fallen to 1/e.
const ageScale = 30

// Cut is a candidate that was left out, and the stage that did it.
type Cut struct {
	ID    string
	Kind  memory.Kind
	Score float64
	Why   memory.Why
	Stage string // "answered", "threshold" or "limit"
}

// ranked is a candidate on its way through the stages, with a number for each.
type ranked struct {
	view
	fused, relevance, recency, confidence, score, mmr float64

	behind   float64 // the best, in log-odds; 0 or less
	reranked bool    // a reranker was shown it
	rerank   float64 // and said this
	judged   float64 // the number that the threshold is on

	redundant float64 // with those chosen so far
	compared  int     // with how many of them it has been compared
}

// Rank orders candidates by what they are worth to the query at now, and returns
// those to show and, for a trace, the best of those left out, at most as many as
// may be kept; both best first. Their Score is the blend of relevance and recency,
// weighed by confidence; Why has a part for each cue and stage. The input is left
// as it is.
func Rank(q Query, candidates []memory.Candidate, o Options, now time.Time) (kept []memory.Candidate, cut []Cut) {
	if len(candidates) == 0 {
		return nil, nil
	}
	a := newAsked(q, candidates, o)
	room := rooms.Get().(*room)
	room.stretch, room.repeats = a.stretch, repeats
	if o.Measure != Fitted {
		a.cues, room.stretch, room.repeats, o.Chat = nil, 1, 0, false
	}
	defer room.done()
	list := o.score(a, candidates, now, room.places(len(candidates)))
	limit := o.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	stage, least := "threshold", or(o.Threshold, DefaultThreshold)
	bar, best, relevance := or(o.Answered, DefaultAnswered), mostRelevant(list), 0.0
	if o.Chat && best > bar {
		relevance = halfway(bar, best)
	}
	// Who sets the bar below this asks to see what is there.
	if o.Measure == Fitted && best < min(bar, or(o.Threshold, bar)) {
		stage, least = "answered", math.Inf(1)
	}
	order, relevant := room.relevantFirst(list, least, relevance)
	bestFirst(order[:relevant], max(2*limit, diversifyAmong)) // nobody looks further
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

// room is what one ranking after the other needs while it goes on.
type room struct {
	list   []ranked
	order  []*ranked
	chosen []float32 // vectors of what diversify chose, one behind the other
	parts  memory.Why
	ends   []int // of each one's parts

	stretch float64 // of cosines
	repeats float64 // the cosine from which on likeness is redundancy
}

var rooms = sync.Pool{New: func() any { return new(room) }}

// places returns n zero places of the list.
func (m *room) places(n int) []ranked {
	m.list = slices.Grow(m.list[:0], n)[:n]
	return m.list
}

// done lets go of the candidates.
func (m *room) done() {
	clear(m.list)
	clear(m.order)
	rooms.Put(m)
}

// relevantFirst returns the candidates that pass the threshold and have at least that
// relevance before the others, and how many they are.
func (m *room) relevantFirst(list []ranked, least, relevance float64) (_ []*ranked, relevant int) {
	m.order = slices.Grow(m.order[:0], len(list))[:len(list)]
	others := len(list)
	for i := range list {
		if r := &list[i]; r.judged >= least && r.relevance >= relevance {
			m.order[relevant] = r
			relevant++
		} else { // or it is not a number
			others--
			m.order[others] = r
		}
	}
	return m.order, relevant
}

// bestFirst brings the best n, one at least, to the front, best first.
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

// before reports whether r comes before other: by score, equal ones by id.
func (r *ranked) before(other *ranked) bool {
	return r.score > other.score || r.score == other.score && r.ID < other.ID
}

// score takes candidates through fusion, calibration and the blend with recency
// and confidence.
func (o Options) score(a *asked, candidates []memory.Candidate, now time.Time, places []ranked) []ranked {
	if o.Measure != Fitted {
		return o.plain(candidates, now, places)
	}
	list := fuse(a, candidates, places)
	l := newLineup(a, list)
	odds, w := l.odds(), unit(or(o.Recency, defaultRecency))
	if o.Chat {
		odds = chatOdds(odds, a.Needs)
	}
	for i := range list {
		list[i].behind = spread * (list[i].fused - l.top)
	}
	if o.Reranked != nil {
		o.rerank(list)
	}
	for i := range list {
		r := &list[i]
		if a.touches(&r.view) {
			r.relevance = sigmoid(odds + r.behind)
		}
		r.judged = r.relevance
		if o.Reranked != nil && o.Threshold != nil {
			r.judged = r.rerank
		}
	}
	for i := range list {
		r := &list[i]
		r.recency = recency(now.Sub(o.since(r)))
		r.confidence = sure(r.Confidence)
		r.score = ((1-w)*r.relevance + w*r.recency*timely(r.behind, w)) * r.confidence
		if o.Decay > 0 {
			r.score = r.relevance * o.decay(now.Sub(o.since(r))) * r.confidence
		}
	}
	return list
}

// since is when a candidate's age begins.
func (o Options) since(r *ranked) time.Time {
	if (o.SinceSaid || o.Decay > 0) && !r.Said.IsZero() {
		return r.Said
	}
	return r.At
}

// decay is what is left of relevance at an age (design 3, 5).
func (o Options) decay(age time.Duration) float64 {
	return math.Exp(-max(0, age.Hours()) / o.Decay.Hours())
}

// timely is how much a candidate's recency counts: all of it for the best, and less for one that
// is behind it in log-odds. Of two that answer the newer comes first, but what was said yesterday
// about something else does not come before an answer of last year. It is 1 where nothing but
// recency counts.
func timely(behind, weight float64) float64 {
	return weight + (1-weight)*math.Exp(2*behind)
}

// doubtCosts is the share of its score that a fact of no confidence loses.
const doubtCosts = 0.3

// sure is what confidence multiplies a score by. A searcher that does not say how
// sure it is says 0, and costs its candidates nothing against each other.
func sure(confidence float64) float64 { return 1 - doubtCosts*(1-unit(confidence)) }

// unit is x within 0 and 1, 0 if it is not a number.
func unit(x float64) float64 {
	if x > 0 {
		return min(1, x)
	}
	return 0
}

// touches reports whether a candidate has anything of the question in it or next
// to it: a word, a likeness, a date. What only has the right speaker is not about
// it, however well another candidate answers.
func (q *asked) touches(c *view) bool {
	return c.lexical > 0 || c.related > 0 || c.vector > q.likeness || q.dated(c) || q.instances(c.Classes) > 0
}

// fuse puts the candidates into places, which are zero and as many, with what the
// cues add up to.
func fuse(a *asked, candidates []memory.Candidate, places []ranked) []ranked {
	for i := range candidates {
		r := &places[i]
		r.view = newView(&candidates[i])
		r.vector = stretched(r.vector, a.stretch)
		for _, j := range a.cues {
			r.fused += a.worth(j, &r.view)
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

// recency is 1 for what is of now and fades with age.
func recency(age time.Duration) float64 {
	return math.Exp(-max(0, age.Hours()/24) / ageScale)
}

// whys are explanations in one piece of memory.
type whys struct {
	parts memory.Why
	ends  []int
	start int
}

// explain returns why each of the list has its score.
func (m *room) explain(a *asked, list []*ranked) *whys {
	m.parts, m.ends = m.parts[:0], m.ends[:0]
	for _, r := range list {
		m.parts = r.explain(a, m.parts)
		m.ends = append(m.ends, len(m.parts))
	}
	return &whys{parts: slices.Clone(m.parts), ends: m.ends}
}

func (w *whys) next() memory.Why {
	end := w.ends[0]
	why := w.parts[w.start:end:end]
	w.start, w.ends = end, w.ends[1:]
	return why
}

// explain adds the numbers of the searcher, the cues and the stages.
func (r *ranked) explain(a *asked, why memory.Why) memory.Why {
	r.Found.Each(func(name string, x float64) { why = append(why, memory.Part{Name: name, Value: x}) })
	for _, i := range a.cues {
		if x := a.worth(i, &r.view); x != 0 {
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
