package recall

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// cue is one reason to prefer a candidate. Its value, usually 0 to 1, is multiplied by its weight and added
// to the fused score.
type cue struct {
	name    string
	weight  float64
	applies func(q *scoredQuery) bool // reports whether the cue applies to the question; otherwise its value is 0
	value   func(q *scoredQuery, c *candidateView) float64
}

// The weights of cues come from a listwise softmax fit (package bench, Fit) on the development halves of
// LoCoMo, BEAM and RealMem with the lexical embedder. They were adjusted slightly so that all three data sets
// improve. docs/measurements/retrieval.md has each cue's contribution, and fits on other conversations.
var cues = []cue{
	// The candidate has words of the question; the words of a turn's neighbours count too.
	{"words", 5.8, alwaysApplies, wordShare},
	// The question names the candidate's speaker; "I" means the user.
	{"speaker", 1.7, isAboutSpeaker, speakerShare},
	{"speaker_words", 1.6, isAboutSpeaker, func(q *scoredQuery, c *candidateView) float64 { return speakerShare(q, c) * wordShare(q, c) }},
	// The candidate is about somebody else, and the question only about the user: a sister's home does not
	// answer "where do I live?". The weight was chosen by hand, because no data set has facts.
	{"other", -1.5, isAboutUserOnly, func(_ *scoredQuery, c *candidateView) float64 { return flagIndicator(c, memory.FlagOtherPerson) }},
	// The candidate is a fact, which needs no context, with words or synonyms of the question. Weight chosen by hand.
	{"fact", 3.0, alwaysApplies, factWordShare},
	// The candidate is a fact, which a person, a rule or a model selected.
	{"kept", factBonus, alwaysApplies, func(_ *scoredQuery, c *candidateView) float64 { return factIndicator(c) }},
	// The turn answers a question that has words of the user's question.
	{"reply", 1.8, alwaysApplies, func(_ *scoredQuery, c *candidateView) float64 { return zeroForAssistant(c, c.replyScore) }},
	// The turn is itself a question.
	{"asks", -0.5, alwaysApplies, func(_ *scoredQuery, c *candidateView) float64 {
		return zeroForAssistant(c, flagIndicator(c, memory.FlagQuestion))
	}},
	// The turn begins a conversation: people begin with their main concern.
	{"opens", 0.8, alwaysApplies, func(q *scoredQuery, c *candidateView) float64 {
		return zeroForAssistant(c, openingIndicator(c)) * wordShare(q, c)
	}},
	// The question asks for a time and the candidate mentions a time, or has the month or year of the question.
	{"when", 2.6, asksForTime, func(q *scoredQuery, c *candidateView) float64 {
		return q.shortness * flagIndicator(c, memory.FlagTime) * wordShare(q, c)
	}},
	{"date_said", 3.2, namesDate, func(q *scoredQuery, c *candidateView) float64 { return q.shortness * q.statementDateShare(c) }},
	{"date_meant", 2.7, namesDate, func(q *scoredQuery, c *candidateView) float64 { return q.shortness * q.bestDateShare(c.Dates) }},
	// The conversation as a whole has words of the question.
	{"session", 2.5, alwaysApplies, func(_ *scoredQuery, c *candidateView) float64 { return c.sessionScore }},
	// The turn itself, not only its neighbours, has words of the question.
	{"peak", 0.65, alwaysApplies, func(_ *scoredQuery, c *candidateView) float64 { return c.peakScore }},
	// The candidate has synonyms of the question's words. Long messages always have some.
	{"related", 3.0, alwaysApplies, func(q *scoredQuery, c *candidateView) float64 { return q.shortness * c.relatedScore }},
	// The question asks for a kind of thing, and the candidate names such a thing.
	{"class", 1.0, asksForKind, func(q *scoredQuery, c *candidateView) float64 { return q.shortness * q.classShare(c.Classes) }},
	// The vectors are similar. For a word-based embedder, only similarity above vectorFloor counts. For other
	// embedders, vectors count less if the best candidate has most words of the question.
	{vectorCue, DefaultVectorWeight, alwaysApplies, func(q *scoredQuery, c *candidateView) float64 {
		if q.isWordBased {
			return max(0, c.cosine-vectorFloor)
		}
		return max(0, 1-q.bestWordShare) * c.cosine
	}},
}

// vectorCue is the name of the cue for vectors. DefaultVectorWeight is its weight, fitted with
// all-MiniLM-L6-v2 (package bench, FitVector).
const (
	vectorCue           = "vector"
	DefaultVectorWeight = 8
	wordsVectorWeight   = 1.5 // weight for the word-based embedder, which adds little to the cue of words
)

var vectorCueIndex = slices.IndexFunc(cues, func(c cue) bool { return c.name == vectorCue })

// alwaysApplies and the functions after it report whether a cue applies to a question.
func alwaysApplies(*scoredQuery) bool    { return true }
func isAboutSpeaker(q *scoredQuery) bool { return q.isAboutUser || len(q.namedSpeakers) > 0 }
func isAboutUserOnly(q *scoredQuery) bool {
	return q.isAboutUser && !q.isAboutPeople && len(q.namedSpeakers) == 0
}
func namesDate(q *scoredQuery) bool   { return len(q.Periods) > 0 }
func asksForTime(q *scoredQuery) bool { return q.asksForTime }
func asksForKind(q *scoredQuery) bool { return q.askedClasses != 0 }

// cuePartNames are the names of the cues in [memory.Why].
var cuePartNames = sync.OnceValue(func() []string {
	out := make([]string, len(cues))
	for i := range cues {
		out[i] = "cue." + cues[i].name
	}
	return out
})

// CueValues returns the unweighted value of each cue for each candidate, with the names and weights of the cues.
// Package bench fits the weights to these values.
func CueValues(q Query, candidates []memory.Candidate, o RankOptions) (names []string, weights []float64, values [][]float64) {
	a := newScoredQuery(q, candidates, o)
	for _, cue := range cues {
		names, weights = append(names, cue.name), append(weights, cue.weight)
	}
	for i := range candidates {
		v := newCandidateView(&candidates[i])
		v.cosine = stretchCosine(v.cosine, a.stretch)
		row := make([]float64, len(cues))
		for _, j := range a.cues {
			row[j] = cues[j].value(a, &v)
		}
		values = append(values, row)
	}
	return names, weights, values
}

// vectorFloor is the usual cosine of texts that have only their language in common.
const vectorFloor = 0.2

// minRelatedCosine returns the minimum cosine of a candidate that relates to the question without sharing a word. In
// word-based embedders, a typo or hash collision in two short texts gives a cosine up to 0.25.
func minRelatedCosine(wordBased bool) float64 {
	if wordBased {
		return 0.3
	}
	return vectorFloor
}

// candidateView is a candidate with the numbers of the searcher. Infinite numbers and NaN, for example from a
// broken vector, become 0, so that other candidates are not affected.
type candidateView struct {
	*memory.Candidate
	wordScore, ownShare, relatedScore, storedShare, cosine, replyScore, sessionScore, peakScore float64
}

func newCandidateView(c *memory.Candidate) candidateView {
	m := &c.Measures
	return candidateView{
		Candidate: c, wordScore: finiteOrZero(m.Lexical), ownShare: finiteOrZero(m.Own), relatedScore: finiteOrZero(m.Related), storedShare: finiteOrZero(m.Known),
		cosine: finiteOrZero(m.Vector), replyScore: finiteOrZero(m.Reply), sessionScore: finiteOrZero(m.Session), peakScore: finiteOrZero(m.Peak),
	}
}

func finiteOrZero(x float32) float64 {
	if x-x != 0 { // not a number, or infinite
		return 0
	}
	return float64(x)
}

// scoredQuery is a query with values that depend on the candidates.
type scoredQuery struct {
	Query
	namedSpeakers []string // speakers that the question names
	cues          []int    // indexes of the cues that apply
	corrections   []memory.Misspelt

	stretch       float64 // factor by which a cosine's distance from 1 grows (see [stretchFactor])
	vectorWeight  float64 // weight of vectors
	isWordBased   bool    // vectors come from a word-based embedder
	bestWordShare float64 // highest share of the question's words in a candidate
	relatedCosine float64 // minimum cosine of a candidate that relates to the question (see [minRelatedCosine])
}

func (o RankOptions) vectorWeight() float64 {
	if o.IsWordBased {
		return wordsVectorWeight
	}
	return DefaultVectorWeight
}

func newScoredQuery(q Query, candidates []memory.Candidate, o RankOptions) *scoredQuery {
	a := &scoredQuery{Query: q, stretch: stretchFactor(o.BackgroundCosine), isWordBased: o.IsWordBased, vectorWeight: o.vectorWeight(), relatedCosine: minRelatedCosine(o.IsWordBased)}
	for i := range candidates {
		a.bestWordShare = max(a.bestWordShare, finiteOrZero(candidates[i].Measures.Lexical))
	}
	a.setCorrections(Corrections(candidates))
	var seen []string // a conversation has few speakers
	last := ""
	for i := range candidates {
		name := candidates[i].Speaker
		if candidates[i].Kind != memory.KindTurn || name == "" || name == last || slices.Contains(seen, name) {
			continue
		}
		seen, last = append(seen, name), name
		if first := text.Words(name); len(first) > 0 && (slices.Contains(q.words, first[0]) || a.wasCorrectedTo(text.Term(first[0]))) {
			a.namedSpeakers = append(a.namedSpeakers, name)
		}
	}
	a.cues = make([]int, 0, len(cues))
	for i := range cues {
		if cues[i].applies(a) {
			a.cues = append(a.cues, i)
		}
	}
	return a
}

// weightedValue returns how much a cue adds to a candidate's fused score.
func (q *scoredQuery) weightedValue(i int, c *candidateView) float64 {
	weight := cues[i].weight
	if i == vectorCueIndex {
		weight = q.vectorWeight
	}
	return weight * cues[i].value(q, c)
}

func wordShare(_ *scoredQuery, c *candidateView) float64 { return c.wordScore }

// speakerShare returns 1 if the candidate's speaker is the subject of the question, or an equal share for each of
// several named speakers.
func speakerShare(q *scoredQuery, c *candidateView) float64 {
	switch {
	case c.Speaker != "" && slices.Contains(q.namedSpeakers, c.Speaker):
		return 1 / float64(len(q.namedSpeakers))
	case len(q.namedSpeakers) == 0 && q.isAboutUser && c.Role == memory.RoleUser && (q.isAboutPeople || c.TextFlags&memory.FlagOtherPerson == 0):
		return 1
	case q.isAboutPeople && c.Kind == memory.KindFact && c.TextFlags&memory.FlagOtherPerson != 0:
		return 1 // the user stated the fact, although it is about another person
	}
	return 0
}

// factBonus is the weight of the cue "kept", chosen on 240 messages of ten invented people, without vectors. The best
// four hits had an answer for 124 messages without this cue, and for 143, 162, 168 and 169 with weights 1 to 4.
const factBonus = 3.0

func factIndicator(c *candidateView) float64 {
	if c.Kind == memory.KindFact {
		return 1
	}
	return 0
}

// factWordShare returns the share of the question's words, with synonyms, that a fact has.
func factWordShare(q *scoredQuery, c *candidateView) float64 {
	if c.Kind != memory.KindFact {
		return 0
	}
	return min(1, c.ownShare+q.shortness*synonymWeight*min(1, c.relatedScore+classWeight*q.classShare(c.Classes)))
}

// classShare returns the share of the question's classes that are among classes.
func (q *scoredQuery) classShare(classes uint32) float64 {
	if q.askedClasses == 0 {
		return 0
	}
	return float64(bits.OnesCount32(classes&uint32(q.askedClasses))) / float64(bits.OnesCount32(uint32(q.askedClasses)))
}

func flagIndicator(c *candidateView, flag memory.TextFlags) float64 {
	if c.TextFlags&flag != 0 {
		return 1
	}
	return 0
}

func openingIndicator(c *candidateView) float64 {
	if c.OpensConversation {
		return 1
	}
	return 0
}

// zeroForAssistant returns x, or 0 for turns of assistants, which end most answers with a question and answer
// most questions.
func zeroForAssistant(c *candidateView, x float64) float64 {
	if c.Role == memory.RoleAssistant {
		return 0
	}
	return x
}

// statementDateShare returns how well the day of the candidate matches the dates in the question.
func (q *scoredQuery) statementDateShare(c *candidateView) float64 {
	return q.dateShare(statementDay(c))
}

func statementDay(c *candidateView) memory.PartialDate {
	y, m, d := c.StatedAt.Date()
	return memory.PartialDate{Year: int16(y), Month: int8(m), Day: int8(d)}
}

// bestDateShare returns how well the best of the given dates matches the question's dates.
func (q *scoredQuery) bestDateShare(dates []memory.PartialDate) float64 {
	var best float64
	for _, d := range dates {
		best = max(best, q.dateShare(d))
	}
	return best
}

// dateShare returns the share of the question's date parts (year, month, day) that date has.
func (q *scoredQuery) dateShare(date memory.PartialDate) float64 {
	matched, parts := 0, 0
	for i := range q.Periods {
		m, of := q.Periods[i].matchParts(date)
		matched, parts = matched+m, parts+of
	}
	if parts == 0 {
		return 0
	}
	return float64(matched) / float64(parts)
}

// matchesDate reports whether a candidate was written at a time that the question names, or mentions such a time.
func (q *scoredQuery) matchesDate(c *candidateView) bool {
	for i := range q.Periods {
		if isFullMatch(q.Periods[i].matchParts(statementDay(c))) || slices.ContainsFunc(c.Dates, func(d memory.PartialDate) bool { return isFullMatch(q.Periods[i].matchParts(d)) }) {
			return true
		}
	}
	return false
}

func isFullMatch(matched, parts int) bool { return matched == parts }
