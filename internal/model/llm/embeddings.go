package llm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

const (
	// A request has at most maxBatchTexts texts with maxBatchBytes bytes together. Servers accept some 30 to
	// 2,000 texts with 16,000 tokens; if a server refuses a batch, Loci halves the number of texts.
	maxBatchTexts = 64
	maxBatchBytes = 64 << 10

	// maxEmbedText is the length in bytes to which longer texts are cut: models ignore the rest of a longer
	// text, and some servers refuse it.
	maxEmbedText = 16 << 10

	// minEmbedText is the length in bytes at which cutting of a refused text stops: every model accepts it.
	minEmbedText = 512

	// blankText is sent instead of a text without words, since servers refuse empty texts.
	blankText = "."

	// questionTimeout is the time limit of a request to the server while a user waits for an answer.
	questionTimeout = 2 * time.Second
)

// Embedder is a [memory.Embedder] that calls /embeddings of an OpenAI-compatible server, or /embed of
// Cohere's own API. It is safe for concurrent use.
type Embedder struct {
	breaker
	client     *Client
	kindField  string                    // request field that distinguishes questions from documents; empty if prefixes of the text distinguish them
	kindValues map[memory.EmbedAs]string // values of kindField, or the prefixes, by kind of text
	isCohere   bool                      // whether the server has Cohere's own API
	dims       atomic.Int64              // number of dimensions in the latest response; 0 before the first response
	maxBatch   atomic.Int64              // maximum number of texts in a request, learned from refusals
}

var _ memory.Embedder = (*Embedder)(nil)

// embedAPIs are the embedding APIs in which a request field tells questions from documents; their servers add
// the prefixes of the models. OpenAI's API has no such field.
var embedAPIs = []struct{ domain, field, question, document string }{
	{"cohere.com", "input_type", "search_query", "search_document"},
	{"cohere.ai", "input_type", "search_query", "search_document"},
	{"jina.ai", "task", "retrieval.query", "retrieval.passage"},
	{"voyageai.com", "input_type", "query", "document"},
}

// NewEmbedder returns an embedder for the model in o and sends no request. questionPrefix and
// documentPrefix are prefixes of the embedded texts; they are ignored if the server adds prefixes.
func NewEmbedder(o Options, questionPrefix, documentPrefix string) (*Embedder, error) {
	if o.Model == "" {
		return nil, memory.Errorf(memory.Invalid, "no embedding model is configured")
	}
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	e := &Embedder{client: c}
	e.maxBatch.Store(maxBatchTexts)
	for _, api := range embedAPIs {
		asOpenAI := strings.Contains(c.server.base.Path, "/compatibility/") || // the OpenAI-compatible API of Cohere
			strings.HasPrefix(o.Model, "jina-embeddings-v2") // these models do not support the field
		if c.server.isSubdomainOf(api.domain) && !asOpenAI {
			e.kindField, questionPrefix, documentPrefix = api.field, api.question, api.document
			e.isCohere = strings.HasPrefix(api.domain, "cohere.")
		}
	}
	e.kindValues = map[memory.EmbedAs]string{memory.AsQuestion: questionPrefix, memory.AsDocument: documentPrefix}
	return e, nil
}

// Fingerprint contains the model's name and a hash of kindField and kindValues. Models with equal
// fingerprints return equal vectors, even on different servers.
func (e *Embedder) Fingerprint() string {
	name, question, document := "remote:"+e.client.model, e.kindValues[memory.AsQuestion], e.kindValues[memory.AsDocument]
	if question+document == "" {
		return name
	}
	sum := sha256.Sum256([]byte(e.kindField + "\x00" + question + "\x00" + document))
	return fmt.Sprintf("%s:%x", name, sum[:4])
}

// Dims is the number of dimensions of the vectors, 0 before the first response.
func (e *Embedder) Dims() int { return int(e.dims.Load()) }

// Remote returns true: writes must not wait for the embedder.
func (e *Embedder) Remote() bool { return true }

// Close closes idle connections.
func (e *Embedder) Close() { e.client.Close() }

// Embed embeds texts. Questions, and documents with a deadline within [questionTimeout], get only one attempt,
// or none for a while after repeated failures. Other documents are retried (Options.RetryTimeout).
//
// If the server refuses a batch, Embed splits the batch, and shortens refused texts. A text that the server
// refuses at any length gets the vector of a blank text, so that its memory counts as embedded. If the server
// accepts no text at all, the error is [memory.Unavailable].
func (e *Embedder) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) (out [][]float32, err error) {
	deadline, hasDeadline := ctx.Deadline()
	if as == memory.AsQuestion || hasDeadline && time.Until(deadline) <= questionTimeout {
		ctx, cancel := context.WithTimeout(ctx, questionTimeout)
		defer cancel()
		err = e.try(ctx, func() error {
			for _, part := range e.batches(texts) {
				vectors, err := e.requestVectors(ctx, e.client.send, as, part)
				if err != nil {
					return err
				}
				out = append(out, vectors...)
			}
			return nil
		})
		if err != nil {
			return nil, e.client.convertRefusal(err)
		}
		return out, nil
	}
	for _, part := range e.batches(texts) {
		vectors, err := e.requestVectors(ctx, e.client.call, as, part)
		if mayConcernTexts(err) {
			vectors, err = e.embedRefusedBatch(ctx, as, part, err)
		}
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && len(part) > 1 {
			e.maxBatch.Store(int64(len(part) / 2)) // the next attempt of the job sends fewer texts
		}
		if err != nil {
			return nil, e.client.convertRefusal(err)
		}
		e.recordSuccess()
		out = append(out, vectors...)
	}
	return out, nil
}

// batches splits texts into the batches of the requests.
func (e *Embedder) batches(texts []string) (batches [][]string) {
	maxTexts, size := int(e.maxBatch.Load()), 0
	for i, t := range texts {
		size += min(len(t), maxEmbedText)
		if last := len(batches) - 1; last < 0 || len(batches[last]) >= maxTexts || size > maxBatchBytes {
			batches, size = append(batches, texts[i:i:len(texts)]), min(len(t), maxEmbedText)
		}
		last := len(batches) - 1
		batches[last] = batches[last][:len(batches[last])+1]
	}
	return batches
}

// mayConcernTexts reports whether the texts of a request may have caused its error: the server refused the
// texts, had an internal error, or returned no valid vectors.
func mayConcernTexts(err error) bool {
	f := failureIn(err)
	return f != nil && (f.isRefusal() || f.status == http.StatusOK || f.status == http.StatusInternalServerError)
}

// embedRefusedBatch embeds texts that the server refused as one batch, or fails if even a blank text is refused.
func (e *Embedder) embedRefusedBatch(ctx context.Context, as memory.EmbedAs, texts []string, refusal error) ([][]float32, error) {
	blankVector, err := e.requestVectors(ctx, e.client.send, as, []string{blankText})
	if err != nil {
		return nil, memory.Errorf(memory.Unavailable, "the server refuses every text: %v", refusal)
	}
	return e.embedHalves(ctx, as, texts, blankVector)
}

// embedHalves embeds the two halves of a refused batch. A text refused at any length gets blankVector.
func (e *Embedder) embedHalves(ctx context.Context, as memory.EmbedAs, texts []string, blankVector [][]float32) (out [][]float32, err error) {
	if len(texts) == 1 {
		return e.embedPrefix(ctx, as, texts[0], blankVector)
	}
	half, tooMany := (len(texts)+1)/2, true
	for part := range slices.Chunk(texts, half) {
		vectors, err := e.requestVectors(ctx, e.client.send, as, part)
		if mayConcernTexts(err) {
			tooMany = false
			vectors, err = e.embedHalves(ctx, as, part, blankVector)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, vectors...)
	}
	if tooMany {
		e.maxBatch.Store(int64(half))
	}
	return out, nil
}

// embedPrefix embeds the longest prefix (half, quarter, …) of a text that is accepted, or returns blankVector.
func (e *Embedder) embedPrefix(ctx context.Context, as memory.EmbedAs, t string, blankVector [][]float32) ([][]float32, error) {
	for size := min(len(t), maxEmbedText); size > minEmbedText; {
		size /= 2
		vectors, err := e.requestVectors(ctx, e.client.send, as, []string{text.Clip(t, size)})
		if !mayConcernTexts(err) {
			return vectors, err
		}
	}
	return blankVector, nil
}

func (e *Embedder) requestVectors(ctx context.Context, send func(ctx context.Context, method, path string, body []byte) ([]byte, error), as memory.EmbedAs, texts []string) ([][]float32, error) {
	input := make([]string, len(texts))
	for i, t := range texts {
		if strings.TrimSpace(t) == "" {
			t = blankText
		}
		input[i] = text.Clip(t, maxEmbedText)
		if e.kindField == "" {
			input[i] = e.kindValues[as] + input[i]
		}
	}
	path, request := "embeddings", map[string]any{"model": e.client.model, "input": input}
	if e.isCohere {
		path, request = "embed", map[string]any{"model": e.client.model, "texts": input, "embedding_types": []string{"float"}}
	}
	if e.kindField != "" {
		request[e.kindField] = e.kindValues[as]
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "encode the texts to embed: %w", err)
	}
	answer, err := send(ctx, http.MethodPost, path, body)
	if err != nil {
		return nil, err
	}
	vectors, err := e.parseVectors(answer, len(texts))
	if err != nil {
		return nil, &failure{err: err, status: http.StatusOK}
	}
	return vectors, nil
}

// parseVectors returns the n vectors in a response, scaled to unit length.
func (e *Embedder) parseVectors(answer []byte, n int) ([][]float32, error) {
	type indexedVector struct {
		Index     *int      `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	var got struct {
		Data       []indexedVector `json:"data"`
		Embeddings struct {
			Float [][]float32 `json:"float"`
		} `json:"embeddings"` // format of Cohere's own API
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, e.client.server.unavailable("invalid vectors: %v", err)
	}
	for _, v := range got.Embeddings.Float {
		got.Data = append(got.Data, indexedVector{Embedding: v})
	}
	if len(got.Data) != n {
		return nil, e.client.server.unavailable("the answer has %d vectors for %d texts", len(got.Data), n)
	}
	out := make([][]float32, n)
	for i, d := range got.Data {
		if d.Index != nil {
			i = *d.Index
		}
		if i < 0 || i >= n || out[i] != nil {
			return nil, e.client.server.unavailable("the indices of the vectors do not match the texts")
		}
		if !isFinite(d.Embedding) || !vector.Normalize(d.Embedding) {
			return nil, e.client.server.unavailable("vector %d is zero or invalid", i)
		}
		if len(d.Embedding) != len(got.Data[0].Embedding) {
			return nil, e.client.server.unavailable("the vectors have different dimensions: %d and %d", len(d.Embedding), len(got.Data[0].Embedding))
		}
		out[i] = d.Embedding
	}
	e.dims.Store(int64(len(out[0])))
	return out, nil
}

func isFinite(v []float32) bool {
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return false
		}
	}
	return len(v) > 0
}

// isRefusal reports whether the server refuses the request permanently.
func (f *failure) isRefusal() bool {
	return f.status == http.StatusBadRequest || f.status == http.StatusRequestEntityTooLarge || f.status == http.StatusUnprocessableEntity
}

// convertRefusal converts a permanent refusal to [memory.Invalid], and other errors to [memory.Unavailable].
func (c *Client) convertRefusal(err error) error {
	if f := failureIn(err); f != nil && f.isRefusal() {
		return memory.Errorf(memory.Invalid, "%v", f.err)
	}
	if !errors.Is(err, memory.Unavailable) && !errors.Is(err, memory.Invalid) {
		return c.server.unavailable("%w", err)
	}
	return err
}
