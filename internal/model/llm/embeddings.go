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
	// embedBatch and embedBytes bound one request, unless a server accepts less. Servers accept
	// from a few dozen texts to two thousand, some 16,000 tokens together.
	embedBatch = 64
	embedBytes = 64 << 10

	// maxEmbedText bounds the bytes of a text: models ignore text beyond their length, and some
	// servers refuse it.
	maxEmbedText = 16 << 10

	// leastEmbedText is a length in bytes that every model accepts.
	leastEmbedText = 512

	// blank replaces a blank text: servers refuse an empty one.
	blank = "."

	// questionTime bounds interactive questions without a deadline.
	questionTime = 2 * time.Second
)

// Embedder is a [memory.Embedder] at an OpenAI-compatible server's /embeddings, or at the /embed of
// Cohere's own API. It is safe for concurrent use.
type Embedder struct {
	breaker
	client *Client
	field  string                    // that distinguishes questions from documents; "": the prefixes do
	kinds  map[memory.EmbedAs]string // the field's values, or the prefixes
	cohere bool                      // it uses Cohere's own API
	dims   atomic.Int64              // of the last answer, 0 before the first
	batch  atomic.Int64              // the most texts of a request
}

var _ memory.Embedder = (*Embedder)(nil)

// apis are those with a field for the kind of text, which add their models' prefixes themselves.
// OpenAI's API has none.
var apis = []struct{ domain, field, question, document string }{
	{"cohere.com", "input_type", "search_query", "search_document"},
	{"cohere.ai", "input_type", "search_query", "search_document"},
	{"jina.ai", "task", "retrieval.query", "retrieval.passage"},
	{"voyageai.com", "input_type", "query", "document"},
}

// NewEmbedder returns an embedder for the model in o without a request. question and document are
// the model's prefixes, unless the server adds them.
func NewEmbedder(o Options, question, document string) (*Embedder, error) {
	if o.Model == "" {
		return nil, memory.Errorf(memory.Invalid, "no model is named to embed with")
	}
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	e := &Embedder{client: c}
	e.batch.Store(embedBatch)
	for _, api := range apis {
		asOpenAI := strings.Contains(c.at.base.Path, "/compatibility/") || // Cohere's
			strings.HasPrefix(o.Model, "jina-embeddings-v2") // models before that field
		if c.at.under(api.domain) && !asOpenAI {
			e.field, question, document = api.field, api.question, api.document
			e.cohere = strings.HasPrefix(api.domain, "cohere.")
		}
	}
	e.kinds = map[memory.EmbedAs]string{memory.AsQuestion: question, memory.AsDocument: document}
	return e, nil
}

// Fingerprint names the model and a hash of its prefixes or field: equal ones give equal vectors on
// every server.
func (e *Embedder) Fingerprint() string {
	name, question, document := "remote:"+e.client.model, e.kinds[memory.AsQuestion], e.kinds[memory.AsDocument]
	if question+document == "" {
		return name
	}
	sum := sha256.Sum256([]byte(e.field + "\x00" + question + "\x00" + document))
	return fmt.Sprintf("%s:%x", name, sum[:4])
}

// Dims is the length of its vectors, 0 before the first answer. A server may change it.
func (e *Embedder) Dims() int { return int(e.dims.Load()) }

// Remote reports that writes must not wait for it.
func (e *Embedder) Remote() bool { return true }

func (e *Embedder) Close() { e.client.Close() }

// Embed asks the server. Questions, and documents with a deadline as near, get one short attempt,
// and a failing server is then skipped for a while; other documents are retried while patience
// lasts.
//
// Batches that the server refuses are split, and refused texts are shortened. A text refused at any
// length gets the vector of a blank text, so that its memory still counts as embedded. A server
// that accepts no text at all is [memory.Unavailable].
func (e *Embedder) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) (out [][]float32, err error) {
	end, ends := ctx.Deadline()
	if as == memory.AsQuestion || ends && time.Until(end) <= questionTime {
		ctx, cancel := context.WithTimeout(ctx, questionTime)
		defer cancel()
		err = e.try(ctx, func() error {
			for _, part := range e.parts(texts) {
				vectors, err := e.ask(ctx, e.client.send, as, part)
				if err != nil {
					return err
				}
				out = append(out, vectors...)
			}
			return nil
		})
		if err != nil {
			return nil, e.client.refused(err)
		}
		return out, nil
	}
	for _, part := range e.parts(texts) {
		vectors, err := e.ask(ctx, e.client.call, as, part)
		if aboutTexts(err) {
			vectors, err = e.embedSmaller(ctx, as, part, err)
		}
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && len(part) > 1 {
			e.batch.Store(int64(len(part) / 2)) // the next attempt sends less
		}
		if err != nil {
			return nil, e.client.refused(err)
		}
		e.answered()
		out = append(out, vectors...)
	}
	return out, nil
}

// parts splits texts into requests.
func (e *Embedder) parts(texts []string) (parts [][]string) {
	most, size := int(e.batch.Load()), 0
	for i, t := range texts {
		size += min(len(t), maxEmbedText)
		if last := len(parts) - 1; last < 0 || len(parts[last]) >= most || size > embedBytes {
			parts, size = append(parts, texts[i:i:len(texts)]), min(len(t), maxEmbedText)
		}
		last := len(parts) - 1
		parts[last] = parts[last][:len(parts[last])+1]
	}
	return parts
}

// aboutTexts reports whether the texts may have caused a server's failure: it refused them,
// crashed, or answered without their vectors.
func aboutTexts(err error) bool {
	f := asFailure(err)
	return f != nil && (f.refuses() || f.status == http.StatusOK || f.status == http.StatusInternalServerError)
}

// embedSmaller embeds texts that the server refused together, unless it refuses all.
func (e *Embedder) embedSmaller(ctx context.Context, as memory.EmbedAs, texts []string, refused error) ([][]float32, error) {
	none, err := e.ask(ctx, e.client.send, as, []string{blank})
	if err != nil {
		return nil, memory.Errorf(memory.Unavailable, "no text is taken: %v", refused)
	}
	return e.embedHalves(ctx, as, texts, none)
}

// embedHalves embeds texts that were refused together; none is the vector for one that is always
// refused.
func (e *Embedder) embedHalves(ctx context.Context, as memory.EmbedAs, texts []string, none [][]float32) (out [][]float32, err error) {
	if len(texts) == 1 {
		return e.cut(ctx, as, texts[0], none)
	}
	half, tooMany := (len(texts)+1)/2, true
	for part := range slices.Chunk(texts, half) {
		vectors, err := e.ask(ctx, e.client.send, as, part)
		if aboutTexts(err) {
			tooMany = false
			vectors, err = e.embedHalves(ctx, as, part, none)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, vectors...)
	}
	if tooMany {
		e.batch.Store(int64(half))
	}
	return out, nil
}

// cut embeds the longest beginning of a text that the server accepts.
func (e *Embedder) cut(ctx context.Context, as memory.EmbedAs, t string, none [][]float32) ([][]float32, error) {
	for size := min(len(t), maxEmbedText); size > leastEmbedText; {
		size /= 2
		vectors, err := e.ask(ctx, e.client.send, as, []string{text.Clip(t, size)})
		if !aboutTexts(err) {
			return vectors, err
		}
	}
	return none, nil
}

func (e *Embedder) ask(ctx context.Context, do func(ctx context.Context, method, path string, body []byte) ([]byte, error), as memory.EmbedAs, texts []string) ([][]float32, error) {
	input := make([]string, len(texts))
	for i, t := range texts {
		if strings.TrimSpace(t) == "" {
			t = blank
		}
		input[i] = text.Clip(t, maxEmbedText)
		if e.field == "" {
			input[i] = e.kinds[as] + input[i]
		}
	}
	path, request := "embeddings", map[string]any{"model": e.client.model, "input": input}
	if e.cohere {
		path, request = "embed", map[string]any{"model": e.client.model, "texts": input, "embedding_types": []string{"float"}}
	}
	if e.field != "" {
		request[e.field] = e.kinds[as]
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "write the texts to embed: %w", err)
	}
	answer, err := do(ctx, http.MethodPost, path, body)
	if err != nil {
		return nil, err
	}
	vectors, err := e.read(answer, len(texts))
	if err != nil {
		return nil, &failure{err: err, status: http.StatusOK}
	}
	return vectors, nil
}

// read returns the n vectors of an answer, of unit length.
func (e *Embedder) read(answer []byte, n int) ([][]float32, error) {
	type numbered struct {
		Index     *int      `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	var got struct {
		Data       []numbered `json:"data"`
		Embeddings struct {
			Float [][]float32 `json:"float"`
		} `json:"embeddings"` // Cohere's
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, e.client.at.unavailable("its vectors cannot be read: %v", err)
	}
	for _, v := range got.Embeddings.Float {
		got.Data = append(got.Data, numbered{Embedding: v})
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
		if len(d.Embedding) != len(got.Data[0].Embedding) {
			return nil, e.client.at.unavailable("a vector has %d dims, and another %d", len(d.Embedding), len(got.Data[0].Embedding))
		}
		out[i] = d.Embedding
	}
	e.dims.Store(int64(len(out[0])))
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

// refuses reports whether the server refuses the request for good.
func (f *failure) refuses() bool {
	return f.status == http.StatusBadRequest || f.status == http.StatusRequestEntityTooLarge || f.status == http.StatusUnprocessableEntity
}

// refused distinguishes permanent refusals from temporary ones.
func (c *Client) refused(err error) error {
	if f := asFailure(err); f != nil && f.refuses() {
		return memory.Errorf(memory.Invalid, "%v", f.err)
	}
	if !errors.Is(err, memory.Unavailable) && !errors.Is(err, memory.Invalid) {
		return c.at.unavailable("%w", err)
	}
	return err
}
