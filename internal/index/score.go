package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/vector"
)

// BM25's constants: k1 and b as fitted on conversations, where a word said twice
// hardly means more than said once, and turns differ in length for no reason.
const (
	k1 = 0.9
	b  = 0.5
)

// relatedShare is what a related word counts of the question's own, where
// candidates are picked.
const relatedShare = 0.4

// words is what a search looks for together: a term of the question, or what is
// related to one.
type words struct {
	related bool
	idf     float64
	df      int
}

// most is the most that the words can add to the measure candidates are picked by,
// before it is divided.
func (w *words) most() float64 {
	if w.related {
		return relatedShare * w.idf * (k1 + 1)
	}
	return w.idf * (k1 + 1)
}

// scoreWords scores the documents of all parts by the terms' blended BM25, and
// returns what it looked for, a term at 2i and what is related to it at 2i+1, with
// the sum of the terms' idf and the share of it which known words have. Scores are
// not divided by the sum. They are whole for all that may be among the
// best by words that admits lets pass, and for those that are marked as wanted once
// wanted returns: it is called before some are left out.
func scoreWords(parts []*segment, terms int, weight func(i int) float64, best *topPicks, wanted func()) (list []words, sum, known float64) {
	docs, means := statistics(parts)
	list = make([]words, 2*terms)
	for t := range terms {
		w, others := &list[2*t], &list[2*t+1]
		for _, p := range parts {
			w.df += p.frequency(p.lists[2*t])
			others.df += p.frequency(p.lists[2*t+1])
		}
		w.idf = inverse(docs, w.df)
		// A rare word for a common one is no better found.
		others.related, others.idf = true, min(w.idf, inverse(docs, others.df))
		w.idf, others.idf = weight(t)*w.idf, weight(t)*others.idf
		sum += w.idf
		if w.df > 0 {
			known += w.idf
		}
	}
	if sum == 0 {
		return list, 0, 0
	}
	scoreRareFirst(parts, list, means, best, wanted)
	return list, sum, known / sum
}

// scoreRareFirst adds up the words by what they can add. Once what is left cannot
// lift a document into the best that has nothing yet, only those are scored on
// that can still get there: a name that is in every turn costs little.
func scoreRareFirst(parts []*segment, list []words, means [4]lengths, best *topPicks, wanted func()) {
	order, left := make([]int, 0, len(list)), 0.0
	for i := range list {
		if list[i].df > 0 {
			order, left = append(order, i), left+list[i].most()
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(list[j].most(), list[i].most()) })
	for _, i := range order {
		w := &list[i]
		if hits := hitsOf(parts); hits >= best.limit && w.df > 2*hits {
			narrow(parts, float32(left), best, wanted)
		}
		for _, p := range parts {
			p.score(p.lists[i], w, means)
		}
		left -= w.most()
	}
}

// narrow leaves in live only the documents that can still be among the best when so
// much is left that may be added, if it can tell.
func narrow(parts []*segment, left float32, best *topPicks, wanted func()) {
	if len(pickWords(parts, best)) < best.limit {
		return
	}
	bound := left + best.least*1e-5 // sums of float32 stray by less
	if best.least <= bound {
		return
	}
	wanted()
	for _, p := range parts {
		p.keep(best.least - bound)
	}
}

// Imagined memories beside the owner's own: a word that is in none of a dozen
// memories is not thereby a rare word, and one that is in three of them not a
// common one. With thousands of memories they do not matter.
const (
	imagined   = 300
	imaginedDF = 1 // in how many of them a word is
)

// inverse is the inverse document frequency of a word, in df of docs documents.
func inverse(docs, df int) float64 {
	n, with := float64(docs)+imagined, float64(df)+imaginedDF
	return math.Log1p((n - with + 0.5) / (with + 0.5))
}

// lengths are mean lengths of a kind of memory.
type lengths struct{ blended, own float64 }

// bm25 is what words of an inverse document frequency are worth by their counts, scale being
// what turns those into a term frequency. of is the length that counts.
func bm25(scale, idf float32, means [4]lengths, of func(mean lengths) float64) vector.Blend {
	words := vector.Blend{Scale: scale, Gain: k1 + 1, Base: k1 * (1 - b), IDF: idf}
	for kind, mean := range means {
		if length := of(mean); length > 0 {
			words.Slopes[kind] = float32(k1 * b / length)
		}
	}
	return words
}

// statistics returns how many documents there are and their mean lengths, over
// all that the owners have, whatever the search is narrowed to.
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
