package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/vector"
)

// Constants k1 and b of BM25, fitted on conversations, where repeated words hardly matter and the
// length of a turn says little.
const (
	k1 = 0.9
	b  = 0.5
)

// relatedShare is the weight of a related word when candidates are picked.
const relatedShare = 0.4

// termGroup is a unit of search: a term of the question, or all terms related to it.
type words struct {
	related bool
	idf     float64
	df      int
}

// maxScore returns the largest score that the group can add, before division by the sum of idf.
func (w *words) maxScore() float64 {
	if w.related {
		return relatedShare * w.idf * (k1 + 1)
	}
	return w.idf * (k1 + 1)
}

// scoreWords scores the documents of all segments by the terms' blended BM25. It returns the groups
// (a term at 2i, its related terms at 2i+1), the sum of the terms' idf, and the share of that sum
// that comes from indexed terms. Scores are not divided by the sum. They are complete for admitted
// documents that may be among the best by words, and for vectorPicks. joinVectors is called before
// any document is skipped.
func scoreWords(parts []*segment, terms int, weight func(i int) float64, best *topPicks, wanted func()) (list []words, sum, coverage float64) {
	docs, means := statistics(parts)
	list = make([]words, 2*terms)
	for t := range terms {
		w, others := &list[2*t], &list[2*t+1]
		for _, p := range parts {
			w.df += p.frequency(p.lists[2*t])
			others.df += p.frequency(p.lists[2*t+1])
		}
		w.idf = inverse(docs, w.df)
		// A rare related word must not score above a common term.
		others.related, others.idf = true, min(w.idf, inverse(docs, others.df))
		w.idf, others.idf = weight(t)*w.idf, weight(t)*others.idf
		sum += w.idf
		if w.df > 0 {
			coverage += w.idf
		}
	}
	if sum == 0 {
		return list, 0, 0
	}
	scoreRareFirst(parts, list, means, best, wanted)
	return list, sum, coverage / sum
}

// scoreRareFirst adds up the groups' scores, in order of their largest possible score. Once the
// remaining groups cannot lift a new document into the best, it scores only contenders, so that a
// name in every turn costs little.
func scoreRareFirst(parts []*segment, list []words, means [4]lengths, best *topPicks, wanted func()) {
	order, left := make([]int, 0, len(list)), 0.0
	for i := range list {
		if list[i].df > 0 {
			order, left = append(order, i), left+list[i].maxScore()
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(list[j].maxScore(), list[i].maxScore()) })
	for _, i := range order {
		w := &list[i]
		if hits := hitsOf(parts); hits >= best.limit && w.df > 2*hits {
			narrow(parts, float32(left), best, wanted)
		}
		for _, p := range parts {
			p.score(p.lists[i], w, means)
		}
		left -= w.maxScore()
	}
}

// skipHopeless sets the contenders: the documents that can still be among the best if at most
// remaining is added to a score. It does nothing if that cannot be decided yet.
func narrow(parts []*segment, left float32, best *topPicks, wanted func()) {
	if len(pickWords(parts, best)) < best.limit {
		return
	}
	bound := left + best.least*1e-5 // rounding errors of float32 sums are smaller
	if best.least <= bound {
		return
	}
	wanted()
	for _, p := range parts {
		p.keep(best.least - bound)
	}
}

// Smoothing: the statistics include imaginary memories. Otherwise a word in none of a dozen
// memories would count as rare, and a word in three of them as common. Among thousands of memories
// this does not matter.
const (
	imaginedDocs = 300
	imaginedDF   = 1 // number of imaginary memories that contain a word
)

// inverseFrequency returns the inverse document frequency of a word in df of docs documents.
func inverse(docs, df int) float64 {
	n, with := float64(docs)+imaginedDocs, float64(df)+imaginedDF
	return math.Log1p((n - with + 0.5) / (with + 0.5))
}

// meanLengths are the mean lengths of the memories of one kind.
type lengths struct{ blended, own float64 }

// newBM25 returns the scores of a word by count, for an inverse document frequency. scale converts
// counts to term frequencies, and meanOf selects the mean length.
func bm25(scale, idf float32, means [4]lengths, of func(mean lengths) float64) vector.Blend {
	words := vector.Blend{Scale: scale, Gain: k1 + 1, Base: k1 * (1 - b), IDF: idf}
	for kind, mean := range means {
		if length := of(mean); length > 0 {
			words.Slopes[kind] = float32(k1 * b / length)
		}
	}
	return words
}

// corpusStatistics returns the number of documents and their mean lengths by kind, over all
// memories of the owners, regardless of filters.
func statistics(parts []*segment) (docs int, means [4]lengths) {
	for kind := fact; kind <= summary; kind++ {
		var count int
		var total, words int64
		for _, p := range parts {
			count += p.count[kind]
			total += p.total[kind]
			words += p.words[kind]
		}
		docs += count
		if count > 0 && words > 0 {
			means[kind] = lengths{float64(total) / float64(count), float64(words) / float64(count)}
		}
	}
	return docs, means
}
