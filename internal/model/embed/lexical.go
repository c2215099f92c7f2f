// Package embed converts texts to vectors. [Lexical] needs no model; embedders with a model, local or remote,
// have the same contract ([memory.Embedder]).
package embed

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// lexicalDims is the number of dimensions, the same as in small local models. With fewer dimensions, more
// unrelated words share one; more dimensions cost memory.
const lexicalDims = 384

// gramWeight is the weight of a character sequence relative to the word's term. A word has several sequences,
// so each must count less.
const gramWeight = 0.3

// Lexical is an embedder that hashes words: the hash of each term, and of each sequence of four characters in a
// word, selects the dimension and the sign of a weight. Texts are similar if they share words or parts of words,
// whatever their meaning. The zero value is ready for use.
type Lexical struct{}

var _ memory.Embedder = Lexical{}

// Fingerprint names the algorithm and the number of dimensions.
func (Lexical) Fingerprint() string { return "lexical-v1:384" }

// Dims returns the number of dimensions.
func (Lexical) Dims() int { return lexicalDims }

// OfWords reports that texts without a common word are not similar (see [memory.Embedder]).
func (Lexical) OfWords() bool { return true }

// Embed returns a unit vector for each text. A text without words gets the vector of the empty word.
// Questions and documents are embedded in the same way.
func (Lexical) Embed(ctx context.Context, _ memory.EmbedAs, texts ...string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(texts)) && ctx.Err() == nil; i = next.Add(1) - 1 {
			out[i] = embedLexical(texts[i])
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(texts)/textsPerWorker) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return out, ctx.Err()
}

// textsPerWorker is the minimum number of texts for each additional goroutine.
const textsPerWorker = 16

func embedLexical(s string) []float32 {
	c := counterPool.Get().(*wordCounter)
	defer c.release()
	c.countWords(s)
	v := make([]float32, lexicalDims)
	for _, w := range c.counts {
		weight := float32(1 + math.Log(float64(w.count)))
		addFeature(v, w.term, weight)
		c.addGrams(v, w.word, weight*gramWeight)
	}
	if !vector.Normalize(v) {
		addFeature(v, "", 1)
	}
	return v
}

// wordCounter counts the words of a text that have a term.
type wordCounter struct {
	counts     []wordCount    // in order of first occurrence, so that sums of floats do not depend on a map's order
	indexes    map[string]int // index in counts by word; empty below mapThreshold words
	gramBuffer []byte         // buffer of addGrams
	runeEnds   []int
}

type wordCount struct {
	word, term string
	count      int
}

var counterPool = sync.Pool{New: func() any { return &wordCounter{indexes: map[string]int{}} }}

// Below mapThreshold words, scanning the list is faster than a map. A counter of more than maxPooledWords words
// is not reused, since few texts have so many.
const mapThreshold, maxPooledWords = 24, 4096

// release returns the counter to the pool if it is small.
func (c *wordCounter) release() {
	if len(c.counts) > maxPooledWords {
		return
	}
	clear(c.counts) // drops references to the text
	c.counts = c.counts[:0]
	clear(c.indexes)
	counterPool.Put(c)
}

func (c *wordCounter) countWords(s string) {
	text.EachWord(s, func(w string) {
		if i, ok := c.indexOf(w); ok {
			c.counts[i].count++
			return
		}
		term := text.Term(w)
		if term == "" {
			return
		}
		c.counts = append(c.counts, wordCount{w, term, 1})
		switch n := len(c.counts); {
		case n == mapThreshold:
			for i := range c.counts {
				c.indexes[c.counts[i].word] = i
			}
		case n > mapThreshold:
			c.indexes[w] = n - 1
		}
	})
}

func (c *wordCounter) indexOf(word string) (int, bool) {
	if len(c.counts) >= mapThreshold {
		i, ok := c.indexes[word]
		return i, ok
	}
	for i := range c.counts {
		if c.counts[i].word == word {
			return i, true
		}
	}
	return 0, false
}

// addGrams adds the features of a word's sequences of four characters; ^ and $ mark the word's boundaries.
func (c *wordCounter) addGrams(v []float32, word string, weight float32) {
	const run = 4
	c.gramBuffer, c.runeEnds = append(c.gramBuffer[:0], '^'), append(c.runeEnds[:0], 0, 1)
	for _, r := range word {
		c.gramBuffer = utf8.AppendRune(c.gramBuffer, r)
		c.runeEnds = append(c.runeEnds, len(c.gramBuffer))
	}
	c.gramBuffer = append(c.gramBuffer, '$')
	c.runeEnds = append(c.runeEnds, len(c.gramBuffer))
	for i := 0; i+run < len(c.runeEnds); i++ {
		addFeature(v, c.gramBuffer[c.runeEnds[i]:c.runeEnds[i+run]], weight)
	}
}

// addFeature hashes a feature (FNV-1a with a final mix) and adds its weight to one dimension, with a sign.
func addFeature[T string | []byte](v []float32, feature T, weight float32) {
	h := uint64(14695981039346656037)
	for i := range len(feature) {
		h = (h ^ uint64(feature[i])) * 1099511628211
	}
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	h ^= h >> 32
	if h>>63 == 1 {
		weight = -weight
	}
	v[h%lexicalDims] += weight
}
