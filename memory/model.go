package memory

import (
	"context"
	"encoding/json"
)

// Embedder turns texts into vectors. An embedder whose vectors depend only on words may have a method OfWords()
// bool that returns true: near duplicates are then found by word search alone. An embedder on a server has a
// method Remote() bool that returns true: a job embeds new memories later, so that writes do not wait.
type Embedder interface {
	// Fingerprint identifies the model: vectors with different fingerprints are never compared. It changes
	// with the weights, pooling, prefix and dimensions.
	Fingerprint() string
	// Dims is the number of dimensions of the vectors.
	Dims() int
	// Embed returns one unit vector for each text, in order; callers must not modify them. Questions and
	// documents may get different vectors. [Invalid] means that a text can never be embedded, [Unavailable]
	// that embedding is not possible now.
	Embed(ctx context.Context, as EmbedAs, texts ...string) ([][]float32, error)
}

// EmbedAs says whether an embedded text is a question or a document.
type EmbedAs string

// The values of [EmbedAs].
const (
	AsQuestion EmbedAs = "question"
	AsDocument EmbedAs = "document"
)

// Reranker scores how well texts answer a question. Its model reads each text together with the question.
type Reranker interface {
	// Fingerprint identifies the model. It changes with everything that changes the scores.
	Fingerprint() string
	// Rerank returns one score from 0 to 1 for each text, in order. If ctx ends first, it returns no scores
	// and the context's error.
	Rerank(ctx context.Context, question string, texts ...string) ([]float32, error)
}

// LLM completes prompts.
type LLM interface {
	// Complete returns the model's reply to a prompt, or [Unavailable].
	Complete(ctx context.Context, p Prompt) (Reply, error)
}

// Prompt is a request to a model.
type Prompt struct {
	Name        string // name of the prompt file
	Hash        string // hash of the prompt file
	Model       string // empty means the LLM's default model
	System      string
	User        string
	Schema      json.RawMessage // JSON schema of the reply; nil means plain text
	Temperature float64
}

// Reply is a model's reply.
type Reply struct {
	Text         string
	Model        string // the model's name at the upstream server
	InputTokens  int
	OutputTokens int
}
