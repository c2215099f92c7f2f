package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Reranker is a [memory.Reranker] at a server that has /rerank, in the form that
// Jina, Cohere, vLLM, llama.cpp and others share, or in that of text-embeddings-inference.
// It may be used by many at once.
type Reranker struct {
	breaker
	client *Client
	texts  atomic.Bool // the server is known to take the latter form
}

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
	return &Reranker{client: c}, nil
}

// Fingerprint names the model.
func (r *Reranker) Fingerprint() string { return "remote:" + r.client.model }

// Remote reports that a request costs more than a text.
func (r *Reranker) Remote() bool { return true }

// Close gives back idle connections.
func (r *Reranker) Close() { r.client.Close() }

// Rerank asks the server once: somebody waits. One that refuses a form is asked in the other,
// which is remembered. A server that fails is skipped for a while. Servers that give logits
// rather than shares are told by a number outside 0 to 1; then all of the answer's are passed
// through the logistic function.
func (r *Reranker) Rerank(ctx context.Context, question string, texts ...string) (scores []float32, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, questionTime)
	defer cancel()
	err = r.try(ctx, func() error {
		form := r.texts.Load()
		var err error
		scores, err = r.ask(ctx, form, question, texts)
		if f := asFailure(err); f != nil && f.refuses() {
			other, again := r.ask(ctx, !form, question, texts)
			if again == nil {
				r.texts.Store(!form)
				scores, err = other, nil
			}
		}
		return err
	})
	if err != nil {
		return nil, r.client.refused(err)
	}
	return scores, nil
}

func (r *Reranker) ask(ctx context.Context, asTexts bool, question string, texts []string) ([]float32, error) {
	clipped := make([]string, len(texts))
	for i, t := range texts {
		clipped[i] = text.Clip(t, maxEmbedText)
	}
	request := map[string]any{"model": r.client.model, "query": text.Clip(question, maxEmbedText), "documents": clipped}
	if asTexts {
		delete(request, "documents")
		request["texts"], request["truncate"] = clipped, true
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "write the texts to rerank: %w", err)
	}
	answer, err := r.client.send(ctx, http.MethodPost, "rerank", body)
	if err != nil {
		return nil, err
	}
	scores, err := r.read(answer, len(texts))
	if err != nil {
		return nil, &failure{err: err, status: http.StatusOK}
	}
	return scores, nil
}

func (r *Reranker) read(answer []byte, n int) ([]float32, error) {
	type ranked struct {
		Index     int      `json:"index"`
		Relevance *float64 `json:"relevance_score"`
		Score     *float64 `json:"score"` // text-embeddings-inference's
	}
	var got struct {
		Results []ranked `json:"results"`
		Data    []ranked `json:"data"` // Voyage's
	}
	into := any(&got)
	if bytes.HasPrefix(bytes.TrimSpace(answer), []byte("[")) {
		into = &got.Results
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return nil, r.client.at.unavailable("its ranking cannot be read: %v", err)
	}
	scores := slices.Repeat([]float64{math.NaN()}, n)
	logits := false
	for _, x := range append(got.Results, got.Data...) {
		score := cmp.Or(x.Relevance, x.Score)
		if x.Index < 0 || x.Index >= n || score == nil {
			return nil, r.client.at.unavailable("its ranking names text %d of %d, or has no score", x.Index, n)
		}
		scores[x.Index] = *score
		logits = logits || *score < 0 || *score > 1
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
