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
	// embedBatch and embedBytes bound one request; less is sent if a server requires it. Servers accept from a
	// few dozen texts to two thousand, with some 16,000 tokens together.
	embedBatch = 64
	embedBytes = 64 << 10

	// maxEmbedText bounds a text in bytes: models ignore the rest of longer texts, and some servers refuse
	// them.
	maxEmbedText = 16 << 10

	// leastEmbedText is a length in bytes that every model accepts.
	leastEmbedText = 512

	// blank replaces a blank text, because servers refuse empty texts.
	blank = "."

	// questionTime bounds interactive questions without a deadline.
	questionTime = 2 * time.Second
)

// Embedder is a [memory.Embedder] that calls /embeddings of an OpenAI-compatible server, or /embed of Cohere's
// own API. It is safe for concurrent use.
type Embedder struct {
	breaker
	client *Client
	field  string                    // request field that distinguishes questions from documents; "": the prefixes do
	kinds  map[memory.EmbedAs]string // values of field, or the prefixes
	cohere bool                      // it uses Cohere's own API
	dims   atomic.Int64              // length of the last answer's vectors, 0 before the first
	batch  atomic.Int64              // maximum number of texts of a request
}

var _ memory.Embedder = (*Embedder)(nil)

// apis are the APIs with a field for the kind of text. Their servers add their models' prefixes. OpenAI's API
// has no such field.
var apis = []struct{ domain, field, question, document string }{
	{"cohere.com", "input_type", "search_query", "search_document"},
	{"cohere.ai", "input_type", "search_query", "search_document"},
	{"jina.ai", "task", "retrieval.query", "retrieval.passage"},
	{"voyageai.com", "input_type", "query", "document"},
}

// NewEmbedder returns an embedder for the model in o; it sends no request. question and document are the
// model's prefixes, unless the server adds them.
func NewEmbedder(o Options, question, document string) (*Embedder, error) {
	if o.Model == "" {
		return nil, memory.Errorf(memory.Invalid, "no embedding model is configured")
	}
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	e := &Embedder{client: c}
	e.batch.Store(embedBatch)
	for _, api := range apis {
		asOpenAI := strings.Contains(c.at.base.Path, "/compatibility/") || // Cohere's OpenAI-compatible API
			strings.HasPrefix(o.Model, "jina-embeddings-v2") // models that do not know that field
		if c.at.under(api.domain) && !asOpenAI {
			e.field, question, document = api.field, api.question, api.document
			e.cohere = strings.HasPrefix(api.domain, "cohere.")
		}
	}
	e.kinds = map[memory.EmbedAs]string{memory.AsQuestion: question, memory.AsDocument: document}
	return e, nil
}

// Fingerprint names the model and a hash of its prefixes or field. Equal fingerprints mean equal vectors on
// every server.
func (e *Embedder) Fingerprint() string {
	name, question, document := "remote:"+e.client.model, e.kinds[memory.AsQuestion], e.kinds[memory.AsDocument]
	if question+document == "" {
		return name
	}
	sum := sha256.Sum256([]byte(e.field + "\x00" + question + "\x00" + document))
	return fmt.Sprintf("%s:%x", name, sum[:4])
}

// Dims is the length of the vectors, 0 before the first answer. It changes if the server changes it.
func (e *Embedder) Dims() int { return int(e.dims.Load()) }

// Remote reports that writes must not wait for the embedder.
func (e *Embedder) Remote() bool { return true }

// Close closes idle connections.
func (e *Embedder) Close() { e.client.Close() }

// Embed asks the server. Questions, and documents with a similarly short deadline, get one short attempt, and a
// failing server is then skipped for a while. Other documents are retried until the patience is used up.
//
// If the server refuses a batch, Embed splits it, and shortens refused texts. A text that is refused at any
// length gets the vector of a blank text, so that its memory still counts as embedded. A server that accepts no
// text at all is [memory.Unavailable].
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
			e.batch.Store(int64(len(part) / 2)) // the next attempt sends fewer texts
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

// aboutTexts reports whether the texts may have caused a server's failure: it refused them, crashed, or
// answered without vectors for them.
func aboutTexts(err error) bool {
	f := asFailure(err)
	return f != nil && (f.refuses() || f.status == http.StatusOK || f.status == http.StatusInternalServerError)
}

// embedSmaller embeds texts that the server refused together. It fails if the server refuses all of them.
func (e *Embedder) embedSmaller(ctx context.Context, as memory.EmbedAs, texts []string, refused error) ([][]float32, error) {
	none, err := e.ask(ctx, e.client.send, as, []string{blank})
	if err != nil {
		return nil, memory.Errorf(memory.Unavailable, "the server accepts no text: %v", refused)
	}
	return e.embedHalves(ctx, as, texts, none)
}

// embedHalves embeds texts that were refused together; none is the vector for a text that is always refused.
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
		return nil, memory.Errorf(memory.Invalid, "encode the texts to embed: %w", err)
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

// read returns the n vectors of an answer, scaled to unit length.
func (e *Embedder) read(answer []byte, n int) ([][]float32, error) {
	type numbered struct {
		Index     *int      `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	var got struct {
		Data       []numbered `json:"data"`
		Embeddings struct {
			Float [][]float32 `json:"float"`
		} `json:"embeddings"` // format of Cohere's own API
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, e.client.at.unavailable("invalid vectors: %v", err)
	}
	for _, v := range got.Embeddings.Float {
		got.Data = append(got.Data, numbered{Embedding: v})
	}
	if len(got.Data) != n {
		return nil, e.client.at.unavailable("it returned %d vectors for %d texts", len(got.Data), n)
	}
	out := make([][]float32, n)
	for i, d := range got.Data {
		if d.Index != nil {
			i = *d.Index
		}
		if i < 0 || i >= n || out[i] != nil {
			return nil, e.client.at.unavailable("the numbers of its vectors do not match the texts")
		}
		if !sound(d.Embedding) || !vector.Normalize(d.Embedding) {
			return nil, e.client.at.unavailable("vector %d is zero or invalid", i)
		}
		if len(d.Embedding) != len(got.Data[0].Embedding) {
			return nil, e.client.at.unavailable("one vector has %d dims, and another has %d", len(d.Embedding), len(got.Data[0].Embedding))
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

// refuses reports whether the server refuses the request permanently.
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
