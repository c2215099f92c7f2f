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

// lexicalDims is a compromise: with fewer dimensions, unrelated words collide; more dimensions cost memory.
// Small local models have the same number.
const lexicalDims = 384

// gramWeight is the weight of a character sequence relative to the word's term. A word has several sequences,
// so each must count less.
const gramWeight = 0.3

// Lexical embeds by hashing: each term, and each sequence of four characters in a word, adds to one dimension
// with one sign. Texts are similar if they share words or parts of words, whatever their meaning. It is
// deterministic, and the zero value is ready.
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
			out[i] = lexical(texts[i])
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(texts)/alone) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return out, ctx.Err()
}

// textsPerWorker is the minimum number of texts for each additional goroutine.
const alone = 16

func lexical(s string) []float32 {
	c := counters.Get().(*counter)
	defer c.done()
	c.count(s)
	v := make([]float32, lexicalDims)
	for _, w := range c.words {
		weight := float32(1 + math.Log(float64(w.times)))
		add(v, w.term, weight)
		c.addGrams(v, w.word, weight*gramWeight)
	}
	if !vector.Normalize(v) {
		add(v, "", 1)
	}
	return v
}

// wordCounter counts the words of a text that have a term.
type counter struct {
	words []counted      // in order of first occurrence, which the float sums depend on
	place map[string]int // index in words by word, used from mapThreshold words on
	gram  []byte         // buffer of addGrams
	ends  []int
}

type counted struct {
	word, term string
	times      int
}

var counters = sync.Pool{New: func() any { return &counter{place: map[string]int{}} }}

// Scanning a few words is faster than a map. Few texts have many words, so a larger counter is not reused.
const few, many = 24, 4096

// release returns the counter to the pool, unless it has grown large.
func (c *counter) done() {
	if len(c.words) > many {
		return
	}
	clear(c.words) // releases the text
	c.words = c.words[:0]
	clear(c.place)
	counters.Put(c)
}

func (c *counter) count(s string) {
	text.EachWord(s, func(w string) {
		if i, ok := c.find(w); ok {
			c.words[i].times++
			return
		}
		term := text.Term(w)
		if term == "" {
			return
		}
		c.words = append(c.words, counted{w, term, 1})
		switch n := len(c.words); {
		case n == few:
			for i := range c.words {
				c.place[c.words[i].word] = i
			}
		case n > few:
			c.place[w] = n - 1
		}
	})
}

func (c *counter) find(word string) (int, bool) {
	if len(c.words) >= few {
		i, ok := c.place[word]
		return i, ok
	}
	for i := range c.words {
		if c.words[i].word == word {
			return i, true
		}
	}
	return 0, false
}

// addGrams adds the sequences of four characters of a word, including its boundaries.
func (c *counter) addGrams(v []float32, word string, weight float32) {
	const run = 4
	c.gram, c.ends = append(c.gram[:0], '^'), append(c.ends[:0], 0, 1)
	for _, r := range word {
		c.gram = utf8.AppendRune(c.gram, r)
		c.ends = append(c.ends, len(c.gram))
	}
	c.gram = append(c.gram, '$')
	c.ends = append(c.ends, len(c.gram))
	for i := 0; i+run < len(c.ends); i++ {
		add(v, c.gram[c.ends[i]:c.ends[i+run]], weight)
	}
}

// addFeature hashes a feature (FNV-1a with a final mix) and adds its weight to one dimension, with a sign.
func add[T string | []byte](v []float32, feature T, weight float32) {
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
