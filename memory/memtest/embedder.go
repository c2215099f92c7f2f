package memtest

import (
	"context"
	"hash/fnv"
	"math"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/loci-memory/loci/memory"
)

// Dims is the number of dimensions of an [Embedder]'s vectors.
const Dims = 32

// Embedder embeds a text as its bag of words. Texts with common words have similar vectors; case and order of
// words have no effect. The zero Embedder is ready to use.
type Embedder struct {
	Name string // embedders with different names are different models with different vectors
	Err  error  // if set, Embed fails with this error

	textCount atomic.Int64
}

// Fingerprint returns "words:NAME".
func (e *Embedder) Fingerprint() string { return "words:" + e.Name }

// Dims returns [Dims].
func (e *Embedder) Dims() int { return Dims }

// EmbeddedTextCount returns the number of texts that Embed has embedded.
func (e *Embedder) EmbeddedTextCount() int { return int(e.textCount.Load()) }

// Embed returns each text's unit vector, the same for questions and documents.
func (e *Embedder) Embed(ctx context.Context, _ memory.EmbedAs, texts ...string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e.Err != nil {
		return nil, e.Err
	}
	e.textCount.Add(int64(len(texts)))
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = embed(e.Name, t)
	}
	return out, nil
}

// Embed returns a text's unit vector, as embedded by the zero [Embedder].
func Embed(text string) []float32 { return embed("", text) }

func embed(model, text string) []float32 {
	v := make([]float32, Dims)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	if len(words) == 0 {
		words = []string{""}
	}
	for _, w := range words {
		h := fnv.New32a()
		h.Write([]byte(model + "/" + w))
		v[h.Sum32()%Dims]++
	}
	var sumOfSquares float64
	for _, x := range v {
		sumOfSquares += float64(x * x)
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sumOfSquares))
	}
	return v
}
