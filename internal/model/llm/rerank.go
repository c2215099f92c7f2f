package llm

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Reranker is a [memory.Reranker] at a server that has /rerank, in the form that
// Jina, Cohere, vLLM, llama.cpp and others share. It may be used by many at once.
type Reranker struct{ client *Client }

var _ memory.Reranker = (*Reranker)(nil)

// NewReranker returns a reranker by the model that o names. It asks nothing yet.
func NewReranker(o Options) (*Reranker, error) {
	if o.Model == "" {
		return nil, memory.Errorf(memory.Invalid, "no model is named to rerank with")
	}
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	return &Reranker{c}, nil
}

// Fingerprint names the model.
func (r *Reranker) Fingerprint() string { return "remote:" + r.client.model }

// Remote reports that a request costs more than a text.
func (r *Reranker) Remote() bool { return true }

// Close gives back idle connections.
func (r *Reranker) Close() { r.client.Close() }

// Rerank asks the server once: somebody waits. Servers that give logits rather than
// shares are told by a number outside 0 to 1; then all of the answer's are passed
// through the logistic function.
func (r *Reranker) Rerank(ctx context.Context, question string, texts ...string) ([]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	request := struct {
		Model     string   `json:"model"`
		Query     string   `json:"query"`
		Documents []string `json:"documents"`
	}{Model: r.client.model, Query: text.Clip(question, maxEmbedText)}
	for _, t := range texts {
		request.Documents = append(request.Documents, text.Clip(t, maxEmbedText))
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "write the texts to rerank: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, questionTime)
	defer cancel()
	answer, err := r.client.send(ctx, http.MethodPost, "rerank", body)
	if err != nil {
		return nil, r.client.refused(err)
	}
	return r.read(answer, len(texts))
}

func (r *Reranker) read(answer []byte, n int) ([]float32, error) {
	var got struct {
		Results []struct {
			Index int      `json:"index"`
			Score *float64 `json:"relevance_score"`
		} `json:"results"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, r.client.at.unavailable("its ranking cannot be read: %v", err)
	}
	scores := slices.Repeat([]float64{math.NaN()}, n)
	logits := false
	for _, x := range got.Results {
		if x.Index < 0 || x.Index >= n || x.Score == nil {
			return nil, r.client.at.unavailable("its ranking names text %d of %d, or has no relevance_score", x.Index, n)
		}
		scores[x.Index] = *x.Score
		logits = logits || *x.Score < 0 || *x.Score > 1
	}
	out := make([]float32, n)
	for i, x := range scores {
		if math.IsNaN(x) {
			return nil, r.client.at.unavailable("its ranking leaves out text %d of %d", i, n)
		}
		if logits {
			x = 1 / (1 + math.Exp(-x))
		}
		out[i] = float32(x)
	}
	return out, nil
}
