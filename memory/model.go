package memory

import (
	"context"
	"encoding/json"
)

// Embedder turns texts into vectors. An embedder that only compares words may have a method
// OfWords() bool: then a word search suffices to find near duplicates. An embedder on a server has
// a method Remote() bool: writes do not wait for it, and a job embeds the memories later.
type Embedder interface {
	// Fingerprint identifies the model, so that vectors of different models are never compared. It
	// changes with the weights, pooling, prefix and dims.
	Fingerprint() string
	// Dims is the length of the vectors.
	Dims() int
	// Embed returns one unit vector for each text, in order; callers must not modify them.
	// Questions and documents may be embedded differently. [Invalid]: a text can never be embedded;
	// [Unavailable]: embedding is not possible now.
	Embed(ctx context.Context, as EmbedAs, texts ...string) ([][]float32, error)
}

// EmbedAs is the purpose of an embedding.
type EmbedAs string

// The two kinds of text in a search.
const (
	AsQuestion EmbedAs = "question"
	AsDocument EmbedAs = "document"
)

// Reranker scores how well texts answer a question by reading each text together with it.
type Reranker interface {
	// Fingerprint identifies the model. It changes with everything that affects the scores.
	Fingerprint() string
	// Rerank returns one score from 0 to 1 for each text, in order. If ctx ends it returns no
	// scores and the context's error.
	Rerank(ctx context.Context, question string, texts ...string) ([]float32, error)
}

// LLM completes prompts.
type LLM interface {
	// Complete returns the model's reply to a prompt, or [Unavailable].
	Complete(ctx context.Context, p Prompt) (Reply, error)
}

// Prompt is one question to a model.
type Prompt struct {
	Name        string // name of the prompt file
	Hash        string // hash of the prompt file
	Model       string // "": the LLM's default model
	System      string
	User        string
	Schema      json.RawMessage // JSON schema of the reply; nil for plain text
	Temperature float64
}

// Reply is a model's reply.
type Reply struct {
	Text         string
	Model        string // the model's name at the upstream
	InputTokens  int
	OutputTokens int
}
