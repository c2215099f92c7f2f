package loci

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/internal/model/transformer"
	"github.com/loci-memory/loci/memory"
)

// The kinds of embedder and reranker, as they stand before a model's name.
const (
	localModel  = "local:"
	remoteModel = "remote:"
)

// modelsFolder is where models are in the data folder.
const modelsFolder = "models"

// ModelsFolder returns the folder of local models.
func (c *Config) ModelsFolder() (string, error) {
	if c.ModelsDir != "" {
		return c.ModelsDir, nil
	}
	dir, err := c.DataDir()
	return filepath.Join(dir, modelsFolder), err
}

// ModelsInUse returns the names of the local models that the settings ask for.
func (c *Config) ModelsInUse() []string {
	var out []string
	for _, s := range []string{c.Embedder, c.Reranker} {
		if name, ok := strings.CutPrefix(s, localModel); ok {
			out = append(out, name)
		}
	}
	return out
}

// checkModels refuses embedders and rerankers that cannot be.
func (c *Config) checkModels() error {
	for _, m := range []struct{ key, value, plain, example string }{
		{"embedder", c.Embedder, "lexical", "all-MiniLM-L6-v2"},
		{"reranker", c.Reranker, "none", "ms-marco-MiniLM-L-6-v2"},
	} {
		local, isLocal := strings.CutPrefix(m.value, localModel)
		remote, isRemote := strings.CutPrefix(m.value, remoteModel)
		switch {
		case m.value == m.plain, isLocal && filepath.IsLocal(local):
		case isRemote && remote != "":
			if c.Embed.URL == "" && c.Upstream.URL == "" {
				return memory.Errorf(memory.Invalid, "%s: %q needs embed.url or upstream.url", m.key, m.value)
			}
		default:
			return memory.Errorf(memory.Invalid, "%s: %q is not possible here; valid: %s, local:NAME of a model in models_dir, such as local:%s, or remote:MODEL",
				m.key, m.value, m.plain, m.example)
		}
	}
	return nil
}

// models are what the settings ask for beside the model that learns.
type models struct {
	embedder memory.Embedder
	reranker memory.Reranker // nil: none
	closers  []func()
}

// Close gives back connections.
func (m *models) Close() error {
	for _, f := range m.closers {
		f()
	}
	return nil
}

// openModels reads local models and names remote ones; nothing is asked over the
// network. What cannot be had is [memory.Invalid], with what to do about it.
func openModels(c Config) (_ *models, err error) {
	m := &models{embedder: embed.Lexical{}}
	if name, ok := strings.CutPrefix(c.Embedder, localModel); ok {
		model, err := openLocal(c, "embedder", name)
		if err != nil {
			return nil, err
		}
		if model.Reranks() {
			return nil, memory.Errorf(memory.Invalid, "embedder: %s is a cross-encoder, which compares texts and gives them no vectors; it can be the reranker", name)
		}
		cache := embed.NewCache(model)
		if err := cache.Measure(context.Background()); err != nil {
			return nil, fmt.Errorf("embedder: %s: %w", name, err)
		}
		m.embedder = cache
	}
	if name, ok := strings.CutPrefix(c.Embedder, remoteModel); ok {
		remote, err := llm.NewEmbedder(embedOptions(c, name))
		if err != nil {
			return nil, fmt.Errorf("embedder: %w", err)
		}
		m.embedder, m.closers = embed.NewCache(remote), append(m.closers, remote.Close)
	}
	if name, ok := strings.CutPrefix(c.Reranker, localModel); ok {
		model, err := openLocal(c, "reranker", name)
		if err != nil {
			return nil, err
		}
		if !model.Reranks() {
			return nil, memory.Errorf(memory.Invalid, "reranker: %s gives vectors and compares no texts; it can be the embedder", name)
		}
		m.reranker = model
	}
	if name, ok := strings.CutPrefix(c.Reranker, remoteModel); ok {
		remote, err := llm.NewReranker(embedOptions(c, name))
		if err != nil {
			return nil, fmt.Errorf("reranker: %w", err)
		}
		m.reranker, m.closers = remote, append(m.closers, remote.Close)
	}
	return m, nil
}

// OpenEmbedder opens the embedder that the settings name, apart from any memory, and
// returns with it the cosine that it gives unrelated texts, 0 if it does not say. A remote
// one is asked for that. end gives back what it holds.
func OpenEmbedder(ctx context.Context, c Config) (e memory.Embedder, background float64, end func() error, err error) {
	m, err := openModels(c)
	if err != nil {
		return nil, 0, nil, err
	}
	if asked, ok := m.embedder.(interface{ Measure(context.Context) error }); ok {
		if err := asked.Measure(ctx); err != nil {
			return nil, 0, nil, errors.Join(fmt.Errorf("embedder: %w", err), m.Close())
		}
	}
	if b, ok := m.embedder.(interface{ Background() float64 }); ok {
		background = b.Background()
	}
	return m.embedder, background, m.Close, nil
}

// openLocal reads a model of the models folder.
func openLocal(c Config, key, name string) (*transformer.Model, error) {
	dir, err := c.ModelsFolder()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, memory.Errorf(memory.Invalid, "%s: there is no model %s in %s; get it with: loci models pull %s", key, name, dir, name)
	}
	model, err := transformer.Open(path)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "%s: %v; loci models verify %s says whether it is whole, loci models remove and pull get it again", key, err, name)
	}
	return model, nil
}

// vectorsAtStart queues the job that gives one user's memory and what everybody shares
// the vectors that they lack. Of other users it is seen when they are first searched.
func (l *Loci) vectorsAtStart(ctx context.Context) error {
	if l.config.Embedder == "lexical" || l.config.Users == "multi" {
		return nil // words are enough until the first search, which sees to it
	}
	return l.engine.Vectors.CatchUp(ctx, userOf(httpx.DefaultUser), memory.Global(memory.DefaultNamespace))
}

// embedTime bounds one request of documents to a remote embedder.
const embedTime = 30 * time.Second

func embedOptions(c Config, model string) llm.Options {
	o := llm.Options{BaseURL: c.Embed.URL, Key: c.Embed.Key, Model: model, Timeout: embedTime}
	if o.BaseURL == "" {
		o.BaseURL = c.Upstream.URL
		if o.Key == "" {
			o.Key = c.Upstream.Key
		}
	}
	return o
}

// remoteDeadline is recall's deadline where it asks a remote embedder or a database
// server, unless it is set: their answer alone may take as long as all of recall does
// with what is local.
const remoteDeadline = 400 * time.Millisecond

// recallDeadline is how long a chat waits for memory.
func recallDeadline(c Config) time.Duration {
	remote := strings.HasPrefix(c.Embedder, remoteModel) || c.Store.postgres()
	if remote && c.from["recall.deadline"] == fromDefault {
		return remoteDeadline
	}
	return c.Recall.Deadline
}
