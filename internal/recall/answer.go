package recall

import (
	"math"

	"github.com/loci-memory/loci/memory"
)

// Fused scores rank the candidates, but do not show whether the best candidate is an answer. The signals
// estimate the probability of an answer from all candidates.

// answerSignal is evidence for or against an answer among the candidates, with its weight in log-odds.
type answerSignal struct {
	weight float64
	value  func(l *candidateMaxima) float64
}

// signals have weights from a logistic fit on development conversations, both between people and with assistants.
// The fit separates questions about their own conversation from the same questions about another conversation.
var signals = []answerSignal{
	// The share of the question's words in the best candidate and its neighbours. A large share counts more
	// if the question has many words.
	{-3.5, func(l *candidateMaxima) float64 { return l.wordShare }},
	{3.7, func(l *candidateMaxima) float64 {
		return l.wordShare * math.Log1p(float64(max(len(l.words), minQuestionWords)))
	}},
	// The lead of the best fused score over the tenth best and the fourth best.
	{0.6, func(l *candidateMaxima) float64 { return l.bestScores[0] - l.bestScores[bestScoreCount-1] }},
	{-0.4, func(l *candidateMaxima) float64 { return l.bestScores[0] - l.bestScores[3] }},
	// The question's words, and things of the requested kind, in the best candidate itself.
	{1.75, func(l *candidateMaxima) float64 {
		return l.shareWithSynonyms(l.bestCandidate.ownShare, l.bestCandidate)
	}},
	{0.75, func(l *candidateMaxima) float64 { return l.classShare(l.bestCandidate.Classes) }},
	{3.5, func(l *candidateMaxima) float64 {
		if l.bestCosine == 0 {
			return typicalCosine
		}
		return l.bestCosine
	}},
	// The question's words in turns of other speakers than the question's subject.
	{-2.9, func(l *candidateMaxima) float64 { return l.otherWordShare }},
	// The question's words in turns of a speaker that the question names.
	{1.1, func(l *candidateMaxima) float64 { return min(1, float64(len(l.namedSpeakers))) * l.subjectWordShare }},
	// Synonyms of the question's words are evidence against an answer.
	{-1.9, func(l *candidateMaxima) float64 { return l.synonymShare }},
}

// answerIntercept is the intercept of the fit, in log-odds.
const answerIntercept = -5.1

// Weights of synonyms and of things of the requested kind, compared with words of the question, in a memory of few
// facts. Among hundreds of memories synonyms occur by chance, so the weights fall to 0 at [CandidateCount]. The values
// were chosen by hand, because the data sets have no small memories (bench, TestFewFactsAreFoundInOtherWords).
const (
	synonymWeight = 0.9
	classWeight   = 0.7
)

// minQuestionWords is the minimum word count that signals assume for a question; the data has hardly any shorter questions.
const minQuestionWords = 5

// typicalCosine is the best cosine of a typical question. It replaces the cosine if vectors are missing, so that a
// failing embedder does not change the estimate.
const typicalCosine = 0.45

// bestScoreCount is the number of scores in [candidateMaxima.bestScores]; a signal compares the first with the last.
const bestScoreCount = 10

// logOddsPerScore is how fast relevance falls with the distance from the best fused score, in log-odds per unit.
const logOddsPerScore = 0.5

// candidateMaxima holds the highest numbers of all candidates of a question.
type candidateMaxima struct {
	*scoredQuery
	bestCandidate  *candidateView          // the candidate with the score bestScores[0]; never nil
	bestFusedScore float64                 // the best fused score
	bestScores     [bestScoreCount]float64 // the best fused scores without the cue "kept" (facts), highest first; 0 for missing candidates

	candidateScarcity                float64 // 1 for hardly any candidates, falling to 0 at [CandidateCount]
	wordShare, synonymShare          float64
	bestCosine                       float64 // 0 if no candidate has a vector
	subjectWordShare, otherWordShare float64 // highest share of the question's words in turns of its subjects, and of other speakers
}

func newCandidateMaxima(a *scoredQuery, list []rankedCandidate) *candidateMaxima {
	l := &candidateMaxima{scoredQuery: a, bestCandidate: &candidateView{Candidate: &memory.Candidate{}}}
	var best float64
	l.candidateScarcity = max(0, 1-float64(len(list))/CandidateCount)
	for i := range list {
		r := &list[i]
		fused := r.fusedScore - factBonus*factIndicator(&r.candidateView) // without the cue "kept": being a fact does not show that the memory is an answer
		if i == 0 || fused > best || fused == best && r.ID < l.bestCandidate.ID {
			l.bestCandidate, best = &r.candidateView, fused
		}
		l.bestFusedScore = max(l.bestFusedScore, r.fusedScore)
		l.insertScore(fused)
		l.wordShare, l.synonymShare = max(l.wordShare, l.shareWithSynonyms(r.wordScore, &r.candidateView)), max(l.synonymShare, (1-l.candidateScarcity)*r.relatedScore)
		l.bestCosine = max(l.bestCosine, r.cosine)
		switch {
		case speakerShare(a, &r.candidateView) > 0:
			l.subjectWordShare = max(l.subjectWordShare, r.ownShare)
		case r.Kind == memory.KindTurn:
			l.otherWordShare = max(l.otherWordShare, r.ownShare)
		}
	}
	return l
}

// shareWithSynonyms returns a share of the question's words plus synonyms for missing words, at most 1.
func (l *candidateMaxima) shareWithSynonyms(share float64, c *candidateView) float64 {
	hints := synonymWeight * min(1, c.relatedScore+classWeight*l.classShare(c.Classes))
	return min(max(1, share), share+l.candidateScarcity*hints)
}

// insertScore inserts a fused score into the list of the best scores.
func (l *candidateMaxima) insertScore(fused float64) {
	for i := range l.bestScores {
		if fused > l.bestScores[i] {
			copy(l.bestScores[i+1:], l.bestScores[i:])
			l.bestScores[i] = fused
			return
		}
	}
}

// chatLogOdds returns the log-odds that a chat message asks for stored memory. The result is
// formOdds plus weighted candidateOdds, or, if higher, candidateOdds minus [certainOdds].
func chatLogOdds(candidateOdds, formOdds float64) float64 {
	return max(formOdds+candidateOddsWeight*candidateOdds, candidateOdds-certainOdds)
}

const (
	candidateOddsWeight = 0.3 // weight of the candidates' odds; the weight of the form's odds is 1
	certainOdds         = 3.0 // penalty on the candidates' odds where the form's odds are ignored
)

// logOdds returns the log-odds that the candidates answer the question.
func (l *candidateMaxima) logOdds() float64 {
	odds := answerIntercept
	for _, s := range signals {
		odds += s.weight * s.value(l)
	}
	return odds
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
