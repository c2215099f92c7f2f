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
	// embedBatch and embedBytes are how much one request holds, unless a server takes less.
	// Servers take from a few dozen texts to two thousand, some 16,000 tokens together.
	embedBatch = 64
	embedBytes = 64 << 10

	// maxEmbedText is how many bytes of a text are sent: what is longer than the
	// model was made for tells it nothing, and some servers refuse it.
	maxEmbedText = 16 << 10

	// leastEmbedText is how many bytes of a text any model takes: no less is tried.
	leastEmbedText = 512

	// blank stands for texts that say nothing: servers refuse an empty one.
	blank = "."

	// questionTime bounds what somebody waits for, who has no deadline.
	questionTime = 2 * time.Second
)

// Embedder is a [memory.Embedder] at an OpenAI-compatible server, by its
// /embeddings, or at Cohere's own API, by its /embed. It may be used by many at once.
type Embedder struct {
	breaker
	client *Client
	field  string                    // that tells questions from documents; "": the texts before them do
	kinds  map[memory.EmbedAs]string // the field's values, or the texts before each text
	cohere bool                      // it is asked as Cohere's API wants it
	dims   atomic.Int64              // of the last answer, 0 before the first
	batch  atomic.Int64              // texts that one request may hold
}

var _ memory.Embedder = (*Embedder)(nil)

// apis are those that have a field for what a text is embedded as, and put the texts that their
// models expect before it by themselves. OpenAI's form has none.
var apis = []struct{ domain, field, question, document string }{
	{"cohere.com", "input_type", "search_query", "search_document"},
	{"cohere.ai", "input_type", "search_query", "search_document"},
	{"jina.ai", "task", "retrieval.query", "retrieval.passage"},
	{"voyageai.com", "input_type", "query", "document"},
}

// NewEmbedder returns an embedder by the model that o names. It asks nothing yet. question and
// document are what the model expects before a text, where the server does not put it there.
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
			strings.HasPrefix(o.Model, "jina-embeddings-v2") // the models before that field
		if c.at.under(api.domain) && !asOpenAI {
			e.field, question, document = api.field, api.question, api.document
			e.cohere = strings.HasPrefix(api.domain, "cohere.")
		}
	}
	e.kinds = map[memory.EmbedAs]string{memory.AsQuestion: question, memory.AsDocument: document}
	return e, nil
}

// Fingerprint names the model and a hash of what tells it questions from documents: wherever
// it is asked like that, its vectors are the same.
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

// Remote reports that no write is to wait for it.
func (e *Embedder) Remote() bool { return true }

// Close gives back idle connections.
func (e *Embedder) Close() { e.client.Close() }

// Embed asks the server. A question is asked once and soon given up, since somebody waits, and
// so are documents with a deadline as near; a server that fails them is skipped for a while.
// Other documents are asked for again while patience lasts. Where the server does not take
// them together, they are sent in smaller parts, and a text that it does not take is cut until
// it does. One that it takes at no length gets the vector of a blank text: without any it would
// keep those of a small memory from being compared. A server that takes no text at all is
// [memory.Unavailable].
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
			vectors, err = e.narrow(ctx, as, part, err)
		}
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && len(part) > 1 {
			e.batch.Store(int64(len(part) / 2)) // the next attempt asks for less
		}
		if err != nil {
			return nil, e.client.refused(err)
		}
		e.answered()
		out = append(out, vectors...)
	}
	return out, nil
}

// parts cuts texts into what one request may hold.
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

// aboutTexts reports whether a server may have failed for what the texts are: it refused them,
// broke on them, or answered with something else than their vectors.
func aboutTexts(err error) bool {
	f := asFailure(err)
	return f != nil && (f.refuses() || f.status == http.StatusOK || f.status == http.StatusInternalServerError)
}

// narrow embeds texts that the server did not take together, unless it takes none at all.
func (e *Embedder) narrow(ctx context.Context, as memory.EmbedAs, texts []string, refused error) ([][]float32, error) {
	none, err := e.ask(ctx, e.client.send, as, []string{blank})
	if err != nil {
		return nil, memory.Errorf(memory.Unavailable, "no text is taken: %v", refused)
	}
	return e.halves(ctx, as, texts, none)
}

// halves embeds texts that were not taken together; none stands for one that is not taken.
func (e *Embedder) halves(ctx context.Context, as memory.EmbedAs, texts []string, none [][]float32) (out [][]float32, err error) {
	if len(texts) == 1 {
		return e.cut(ctx, as, texts[0], none)
	}
	half, tooMany := (len(texts)+1)/2, true
	for part := range slices.Chunk(texts, half) {
		vectors, err := e.ask(ctx, e.client.send, as, part)
		if aboutTexts(err) {
			tooMany = false
			vectors, err = e.halves(ctx, as, part, none)
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

// cut embeds as much of a text as the server takes.
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

// ask makes one request.
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

// refuses reports whether the server will never take what it was sent.
func (f *failure) refuses() bool {
	return f.status == http.StatusBadRequest || f.status == http.StatusRequestEntityTooLarge || f.status == http.StatusUnprocessableEntity
}

// refused tells what will never be taken from what may be taken later.
func (c *Client) refused(err error) error {
	if f := asFailure(err); f != nil && f.refuses() {
		return memory.Errorf(memory.Invalid, "%v", f.err)
	}
	if !errors.Is(err, memory.Unavailable) && !errors.Is(err, memory.Invalid) {
		return c.at.unavailable("%w", err)
	}
	return err
}
