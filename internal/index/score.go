package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/vector"
)

// Constants k1 and b of BM25, fitted on conversations. Both are low, because there neither repeated
// words nor a turn's length say much.
const (
	bm25K1 = 0.9
	bm25B  = 0.5
)

// relatedShare is the weight of a related word's score, relative to a word of the question.
const relatedShare = 0.4

// termGroup is a term of the question, or all terms related to it, which are scored like one term.
type termGroup struct {
	isRelated         bool
	idf               float64
	documentFrequency int
}

// maxScore returns the largest score that the group can add, before division by the sum of idf.
func (w *termGroup) maxScore() float64 {
	if w.isRelated {
		return relatedShare * w.idf * (bm25K1 + 1)
	}
	return w.idf * (bm25K1 + 1)
}

// scoreWords scores the documents of all segments by the blended BM25 of the question's termCount terms.
// It returns the groups (term i at 2i, its related terms at 2i+1), the sum of the terms' idf, and the
// share of that sum that comes from indexed terms. The scores, not yet divided by idfSum, are complete
// for documents that may be among the best by words, and for vectorPicks. finishVectors, which sets
// vectorPicks, is called before any document is skipped.
func scoreWords(segments []*segment, termCount int, weightOf func(i int) float64, picks *topPicks, finishVectors func()) (groups []termGroup, idfSum, coverage float64) {
	docs, means := corpusStatistics(segments)
	groups = make([]termGroup, 2*termCount)
	for t := range termCount {
		w, others := &groups[2*t], &groups[2*t+1]
		for _, p := range segments {
			w.documentFrequency += p.documentFrequency(p.postingLists[2*t])
			others.documentFrequency += p.documentFrequency(p.postingLists[2*t+1])
		}
		w.idf = inverseFrequency(docs, w.documentFrequency)
		// A rare related word must not score above a common term.
		others.isRelated, others.idf = true, min(w.idf, inverseFrequency(docs, others.documentFrequency))
		w.idf, others.idf = weightOf(t)*w.idf, weightOf(t)*others.idf
		idfSum += w.idf
		if w.documentFrequency > 0 {
			coverage += w.idf
		}
	}
	if idfSum == 0 {
		return groups, 0, 0
	}
	scoreRareFirst(segments, groups, means, picks, finishVectors)
	return groups, idfSum, coverage / idfSum
}

// scoreRareFirst adds up the groups' scores, the group with the largest possible score first. Once the
// remaining groups cannot lift a new document into the best, it scores only the contenders, so that a
// term in every turn costs little.
func scoreRareFirst(segments []*segment, groups []termGroup, means [4]meanLengths, picks *topPicks, finishVectors func()) {
	order, remaining := make([]int, 0, len(groups)), 0.0
	for i := range groups {
		if groups[i].documentFrequency > 0 {
			order, remaining = append(order, i), remaining+groups[i].maxScore()
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(groups[j].maxScore(), groups[i].maxScore()) })
	for _, i := range order {
		w := &groups[i]
		if hits := countScored(segments); hits >= picks.limit && w.documentFrequency > 2*hits {
			skipHopeless(segments, float32(remaining), picks, finishVectors)
		}
		for _, p := range segments {
			p.addScores(p.postingLists[i], w, means)
		}
		remaining -= w.maxScore()
	}
}

// skipHopeless sets the contenders: the documents that can still be among the best if at most maxAddedScore
// is added to a score. It does nothing if a document without a score could still be among the best.
func skipHopeless(segments []*segment, maxAddedScore float32, picks *topPicks, finishVectors func()) {
	if len(pickByWords(segments, picks)) < picks.limit {
		return
	}
	bound := maxAddedScore + picks.minScore*1e-5 // rounding errors of float32 sums are smaller
	if picks.minScore <= bound {
		return
	}
	finishVectors()
	for _, p := range segments {
		p.keepContenders(picks.minScore - bound)
	}
}

// Smoothing: document frequencies include imaginary memories. Otherwise, among a dozen memories, a word
// in none of them would count as rare and a word in three as common. Among thousands of memories the
// imaginary ones do not matter.
const (
	smoothingDocs      = 300 // number of imaginary memories
	smoothingFrequency = 1   // number of imaginary memories that contain a word
)

// inverseFrequency returns the inverse document frequency of a word that occurs in wordDocs of docs
// documents.
func inverseFrequency(docs, wordDocs int) float64 {
	n, with := float64(docs)+smoothingDocs, float64(wordDocs)+smoothingFrequency
	return math.Log1p((n - with + 0.5) / (with + 0.5))
}

// meanLengths are the mean lengths of the memories of one kind.
type meanLengths struct{ blended, own float64 }

// newBM25 returns the BM25 scorer of a word with an inverse document frequency. scale converts counts to
// occurrences, and meanOf selects the mean length of each kind.
func newBM25(scale, idf float32, means [4]meanLengths, meanOf func(mean meanLengths) float64) vector.Blend {
	bm25 := vector.Blend{Scale: scale, Gain: bm25K1 + 1, Base: bm25K1 * (1 - bm25B), IDF: idf}
	for kind, mean := range means {
		if length := meanOf(mean); length > 0 {
			bm25.Slopes[kind] = float32(bm25K1 * bm25B / length)
		}
	}
	return bm25
}

// corpusStatistics returns the number of documents and their mean lengths by kind, over all
// memories of the owners, regardless of filters.
func corpusStatistics(segments []*segment) (docs int, means [4]meanLengths) {
	for kind := fact; kind <= summary; kind++ {
		var count int
		var total, words int64
		for _, p := range segments {
			count += p.kindCounts[kind]
			total += p.blendedTotals[kind]
			words += p.ownTotals[kind]
		}
		docs += count
		if count > 0 && words > 0 {
			means[kind] = meanLengths{float64(total) / float64(count), float64(words) / float64(count)}
		}
	}
	return docs, means
}
