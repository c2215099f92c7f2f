// Package embed turns texts into vectors. Lexical needs no model; embedders that
// do, local or remote, keep the same contract ([memory.Embedder]).
package embed

import (
	"context"
	"math"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// lexicalDims is a compromise: fewer make unrelated words collide, more cost
// memory without meaning, and small local models have as many.
const lexicalDims = 384

// How much a character sequence of a word counts beside the word's term. Several
// of them make up a word, so that each must count for less.
const gramWeight = 0.3

// Lexical embeds by hashing: each term and each run of four characters in a word
// adds to one dimension with one sign. Texts are near if they share words or
// parts of words. It is deterministic and needs nothing; it knows no meanings.
// The zero value is ready.
type Lexical struct{}

var _ memory.Embedder = Lexical{}

// Fingerprint names the features and the dims.
func (Lexical) Fingerprint() string { return "lexical-v1:384" }

// Dims is 384.
func (Lexical) Dims() int { return lexicalDims }

// Embed returns a unit vector for each text. A text without words gets the vector
// of the empty word, so that every vector has unit length. Question and document
// are embedded alike.
func (Lexical) Embed(ctx context.Context, _ memory.EmbedAs, texts ...string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, s := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = lexical(s)
	}
	return out, nil
}

func lexical(s string) []float32 {
	counts := map[string]int{}
	var order []string // so that the sums do not depend on the map's order
	text.EachWord(s, func(w string) {
		if text.Term(w) == "" {
			return
		}
		if counts[w] == 0 {
			order = append(order, w)
		}
		counts[w]++
	})
	v := make([]float32, lexicalDims)
	for _, w := range order {
		weight := float32(1 + math.Log(float64(counts[w])))
		add(v, text.Term(w), weight)
		addGrams(v, w, weight*gramWeight)
	}
	if !vector.Normalize(v) {
		add(v, "", 1)
	}
	return v
}

// addGrams adds the runs of four characters of a word, its ends marked.
func addGrams(v []float32, word string, weight float32) {
	runes := append(append([]rune{'^'}, []rune(word)...), '$')
	for i := 0; i+4 <= len(runes); i++ {
		add(v, string(runes[i:i+4]), weight)
	}
}

// add hashes a feature (FNV-1a, finished so that all bits depend on all) to its
// dimension and sign.
func add(v []float32, feature string, weight float32) {
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
