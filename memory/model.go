package memory

import (
	"context"
	"encoding/json"
)

// Embedder turns texts into vectors. An embedder by words alone, for which texts without a common
// word are never near, may have a method OfWords() bool: words then suffice to find near
// duplicates. One on a server has a method Remote() bool: writes do not wait for it, and a job
// embeds the memories.
type Embedder interface {
	// Fingerprint identifies the model, so that vectors of different models are never compared: it
	// changes with weights, pooling, prefix and dims.
	Fingerprint() string
	// Dims is the length of its vectors.
	Dims() int
	// Embed returns one unit vector for each text, in order, not to be written to. Question and
	// document may be embedded differently. [Invalid]: a text that it can never embed;
	// [Unavailable]: it cannot now.
	Embed(ctx context.Context, as EmbedAs, texts ...string) ([][]float32, error)
}

// EmbedAs is the purpose of an embedding.
type EmbedAs string

// The two sides of a search.
const (
	AsQuestion EmbedAs = "question"
	AsDocument EmbedAs = "document"
)

// Reranker scores how well texts answer a question, reading both together.
type Reranker interface {
	// Fingerprint identifies the model: it changes with whatever changes its scores.
	Fingerprint() string
	// Rerank returns one score for each text, in order, from 0 to 1, or the context's error: all
	// of them or none.
	Rerank(ctx context.Context, question string, texts ...string) ([]float32, error)
}

// LLM completes prompts.
type LLM interface {
	// Complete returns the model's reply to a prompt, or [Unavailable].
	Complete(ctx context.Context, p Prompt) (Reply, error)
}

// Prompt is one question to a model.
type Prompt struct {
	Name        string // of its prompt file
	Hash        string // of its prompt file
	Model       string // "" is the LLM's default
	System      string
	User        string
	Schema      json.RawMessage // JSON schema of the reply; nil for plain text
	Temperature float64
}

// Reply is a model's reply.
type Reply struct {
	Text         string
	Model        string // the upstream's name of it
	InputTokens  int
	OutputTokens int
}
