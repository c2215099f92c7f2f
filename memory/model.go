package memory

import (
	"context"
	"encoding/json"
)

// Embedder turns texts into vectors. One whose vectors are made of words alone, so
// that no two texts are near which share none, may say so by a method
// OfWords() bool: to see what is nearly the same, words are enough then. One that
// asks a server says so by a method Remote() bool: no write waits for it then, and a
// job gives memories their vectors.
type Embedder interface {
	// Fingerprint names the model so that vectors of different models never meet:
	// it changes with weights, pooling, prefix and dims.
	Fingerprint() string
	// Dims is the length of its vectors.
	Dims() int
	// Embed returns one unit vector for each text, in order, not to be written to.
	// Question and document may be embedded differently. [Invalid]: a text that it
	// will never embed; [Unavailable]: it cannot now.
	Embed(ctx context.Context, as EmbedAs, texts ...string) ([][]float32, error)
}

// EmbedAs is what a text is embedded as.
type EmbedAs string

// The two sides of a search.
const (
	AsQuestion EmbedAs = "question"
	AsDocument EmbedAs = "document"
)

// Reranker says how well texts answer a question, having read both together.
type Reranker interface {
	// Fingerprint names the model: it changes with whatever changes its numbers.
	Fingerprint() string
	// Rerank returns one number for each text, in order, from 0 to 1, or the context's
	// error when that ends: all of them or none.
	Rerank(ctx context.Context, question string, texts ...string) ([]float32, error)
}

// LLM completes prompts.
type LLM interface {
	// Complete returns the model's reply to a prompt, or [Unavailable] when it
	// cannot be had now.
	Complete(ctx context.Context, p Prompt) (Reply, error)
}

// Prompt is one question to a model.
type Prompt struct {
	Name        string // which prompt file it came from
	Hash        string // of that file
	Model       string // "" is the LLM's default
	System      string
	User        string
	Schema      json.RawMessage // JSON schema of the reply; nil for plain text
	Temperature float64
}

// Reply is what a model said.
type Reply struct {
	Text         string
	Model        string // as the upstream names it
	InputTokens  int
	OutputTokens int
}
