package llm

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

const (
	// embedBatch is how many texts one request holds. Servers take from a few dozen to
	// two thousand.
	embedBatch = 64

	// maxEmbedText is how many bytes of a text are sent: what is longer than the
	// model was made for tells it nothing, and some servers refuse it.
	maxEmbedText = 16 << 10

	// questionTime bounds an embedding that somebody waits for, who has no deadline.
	questionTime = 2 * time.Second
)

// Embedder is a [memory.Embedder] at an OpenAI-compatible server, by its
// /embeddings. It may be used by many at once.
type Embedder struct {
	client *Client
	dims   atomic.Int64 // 0 before the first answer
}

var _ memory.Embedder = (*Embedder)(nil)

// NewEmbedder returns an embedder by the model that o names. It asks nothing yet.
func NewEmbedder(o Options) (*Embedder, error) {
	if o.Model == "" {
		return nil, memory.Errorf(memory.Invalid, "no model is named to embed with")
	}
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	return &Embedder{client: c}, nil
}

// Fingerprint names the model: wherever it is asked, its vectors are the same.
func (e *Embedder) Fingerprint() string { return "remote:" + e.client.model }

// Dims is the length of its vectors, 0 before the first answer.
func (e *Embedder) Dims() int { return int(e.dims.Load()) }

// Remote reports that no write is to wait for it.
func (e *Embedder) Remote() bool { return true }

// Close gives back idle connections.
func (e *Embedder) Close() { e.client.Close() }

// Embed asks the server. A question is asked once and soon given up, since somebody
// waits; documents are asked for again while patience lasts. A server that refuses a
// request of one text for what is in it makes that [memory.Invalid].
func (e *Embedder) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := min(len(texts), embedBatch)
		vectors, err := e.ask(ctx, as, texts[:n])
		if err != nil {
			return nil, err
		}
		out, texts = append(out, vectors...), texts[n:]
	}
	return out, nil
}

func (e *Embedder) ask(ctx context.Context, as memory.EmbedAs, texts []string) ([][]float32, error) {
	request := struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}{Model: e.client.model}
	for _, t := range texts {
		if strings.TrimSpace(t) == "" {
			t = "." // servers refuse nothing at all
		}
		request.Input = append(request.Input, text.Clip(t, maxEmbedText))
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "write the texts to embed: %w", err)
	}
	do := e.client.call
	if as == memory.AsQuestion {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, questionTime)
		defer cancel()
		do = e.client.send
	}
	answer, err := do(ctx, http.MethodPost, "embeddings", body)
	if err != nil {
		return nil, e.client.refused(err)
	}
	return e.read(answer, len(texts))
}

// read returns the n vectors of an answer, of unit length.
func (e *Embedder) read(answer []byte, n int) ([][]float32, error) {
	var got struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, e.client.at.unavailable("its vectors cannot be read: %v", err)
	}
	if len(got.Data) != n {
		return nil, e.client.at.unavailable("it gave %d vectors for %d texts", len(got.Data), n)
	}
	out := make([][]float32, n)
	for i, d := range got.Data {
		if d.Index != nil {
			i = *d.Index
		}
		if i < 0 || i >= n || out[i] != nil {
			return nil, e.client.at.unavailable("its vectors are not numbered as the texts are")
		}
		if !sound(d.Embedding) || !vector.Normalize(d.Embedding) {
			return nil, e.client.at.unavailable("vector %d has no direction", i)
		}
		dims := int64(len(d.Embedding))
		if e.dims.CompareAndSwap(0, dims); e.dims.Load() != dims {
			return nil, e.client.at.unavailable("a vector has %d dims, and others had %d", dims, e.dims.Load())
		}
		out[i] = d.Embedding
	}
	return out, nil
}

func sound(v []float32) bool {
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return false
		}
	}
	return len(v) > 0
}

// refused tells what will never be taken from what may be taken later.
func (c *Client) refused(err error) error {
	f := asFailure(err)
	if f != nil && (f.status == http.StatusBadRequest || f.status == http.StatusRequestEntityTooLarge || f.status == http.StatusUnprocessableEntity) {
		return memory.Errorf(memory.Invalid, "%v", f.err)
	}
	if !errors.Is(err, memory.Unavailable) {
		return c.at.unavailable("%w", err)
	}
	return err
}
