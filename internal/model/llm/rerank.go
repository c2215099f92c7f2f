package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Reranker is a [memory.Reranker] that calls /rerank of a server, below the base URL or, if the base URL ends
// in /v1, below its parent. It is safe for concurrent use.
type Reranker struct {
	breaker
	clients []*Client    // clients of the base URL and, if it ends in /v1, of its parent
	variant atomic.Int32 // bits of the variant that succeeded last
}

// Bits of a variant of the request. variantTexts selects the format of text-embeddings-inference instead of
// that of Jina, Cohere, vLLM and llama.cpp; variantOutsideV1 selects the parent of /v1 instead of the base URL.
const (
	variantTexts int32 = 1 << iota
	variantOutsideV1
)

var _ memory.Reranker = (*Reranker)(nil)

// NewReranker returns a reranker for the model in o. It sends no request.
func NewReranker(o Options) (*Reranker, error) {
	if o.Model == "" {
		return nil, memory.Errorf(memory.Invalid, "no reranking model is configured")
	}
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	r := &Reranker{clients: []*Client{c}}
	base, _, _ := strings.Cut(o.BaseURL, "?")
	if root, ok := strings.CutSuffix(strings.TrimRight(base, "/"), "/v1"); ok {
		o.BaseURL, o.Transport = root+o.BaseURL[len(base):], c.http.Transport
		if c, err = New(o); err != nil {
			return nil, err
		}
		r.clients = append(r.clients, c)
	}
	return r, nil
}

// Fingerprint contains the model's name.
func (r *Reranker) Fingerprint() string { return "remote:" + r.clients[0].model }

// Remote returns true: each request has a fixed cost in addition to the cost of each text.
func (r *Reranker) Remote() bool { return true }

// Close closes idle connections.
func (r *Reranker) Close() { r.clients[0].Close() }

// Rerank must succeed within [questionTimeout]. If the server refuses a format, Rerank tries the other format;
// after a 404 it tries the parent of /v1. It remembers the variant that succeeds. A server that fails often is
// skipped for a while. If a score is outside 0 to 1, all scores are logits, which Rerank converts.
func (r *Reranker) Rerank(ctx context.Context, question string, texts ...string) (scores []float32, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	err = r.try(ctx, func() (firstErr error) {
		tried := map[int32]bool{}
		for variant := r.variant.Load(); !tried[variant] && int(variant/variantOutsideV1) < len(r.clients); {
			tried[variant] = true
			var err error
			if scores, err = r.requestScores(ctx, variant, question, texts); err == nil {
				r.variant.Store(variant)
				return nil
			}
			firstErr = cmp.Or(firstErr, err)
			switch f := failureIn(err); {
			case f != nil && f.isRefusal():
				variant ^= variantTexts
			case f != nil && f.status == http.StatusNotFound:
				variant ^= variantOutsideV1
			}
		}
		return firstErr
	})
	if err != nil {
		return nil, r.clients[0].convertRefusal(err)
	}
	return scores, nil
}

func (r *Reranker) requestScores(ctx context.Context, variant int32, question string, texts []string) ([]float32, error) {
	client := r.clients[variant/variantOutsideV1]
	clipped := make([]string, len(texts))
	for i, t := range texts {
		clipped[i] = text.Clip(t, maxEmbedText)
	}
	request := map[string]any{"model": client.model, "query": text.Clip(question, maxEmbedText), "documents": clipped}
	if variant&variantTexts != 0 {
		delete(request, "documents")
		request["texts"], request["truncate"] = clipped, true
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "encode the texts to rerank: %w", err)
	}
	answer, err := client.send(ctx, http.MethodPost, "rerank", body)
	if err != nil {
		return nil, err
	}
	scores, err := r.parseScores(answer, len(texts))
	if err != nil {
		return nil, &failure{err: err, status: http.StatusOK}
	}
	return scores, nil
}

func (r *Reranker) parseScores(answer []byte, n int) ([]float32, error) {
	type indexedScore struct {
		Index     int      `json:"index"`
		Relevance *float64 `json:"relevance_score"`
		Score     *float64 `json:"score"` // field of text-embeddings-inference
	}
	var got struct {
		Results []indexedScore `json:"results"`
		Data    []indexedScore `json:"data"` // field of Voyage
	}
	into := any(&got)
	if bytes.HasPrefix(bytes.TrimSpace(answer), []byte("[")) {
		into = &got.Results
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return nil, r.clients[0].server.unavailable("invalid ranking: %v", err)
	}
	scores := slices.Repeat([]float64{math.NaN()}, n)
	logits := false
	for _, x := range append(got.Results, got.Data...) {
		score := cmp.Or(x.Relevance, x.Score)
		if x.Index < 0 || x.Index >= n || score == nil {
			return nil, r.clients[0].server.unavailable("the ranking has the index %d for %d texts, or no score", x.Index, n)
		}
		scores[x.Index] = *score
		logits = logits || *score < 0 || *score > 1
	}
	out := make([]float32, n)
	for i, x := range scores {
		if math.IsNaN(x) {
			return nil, r.clients[0].server.unavailable("the ranking has no score for text %d of %d", i, n)
		}
		if logits {
			x = 1 / (1 + math.Exp(-x))
		}
		out[i] = float32(x)
	}
	return out, nil
}
