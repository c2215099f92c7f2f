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

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/internal/model/transformer"
	"github.com/loci-memory/loci/memory"
)

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
func openModels(c config.Config) (_ *models, err error) {
	m := &models{embedder: embed.Lexical{}}
	if name, ok := strings.CutPrefix(c.Embedder, config.LocalModel); ok {
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
	if name, ok := strings.CutPrefix(c.Embedder, config.RemoteModel); ok {
		remote, err := llm.NewEmbedder(embedOptions(c, name))
		if err != nil {
			return nil, fmt.Errorf("embedder: %w", err)
		}
		m.embedder, m.closers = embed.NewCache(remote), append(m.closers, remote.Close)
	}
	if name, ok := strings.CutPrefix(c.Reranker, config.LocalModel); ok {
		model, err := openLocal(c, "reranker", name)
		if err != nil {
			return nil, err
		}
		if !model.Reranks() {
			return nil, memory.Errorf(memory.Invalid, "reranker: %s gives vectors and compares no texts; it can be the embedder", name)
		}
		m.reranker = model
	}
	if name, ok := strings.CutPrefix(c.Reranker, config.RemoteModel); ok {
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
func OpenEmbedder(ctx context.Context, c config.Config) (e memory.Embedder, background float64, end func() error, err error) {
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
func openLocal(c config.Config, key, name string) (*transformer.Model, error) {
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
	return l.engine.CatchUp(ctx, userOf(httpx.DefaultUser), memory.Global(memory.DefaultNamespace))
}

// embedTime bounds one request of documents to a remote embedder.
const embedTime = 30 * time.Second

func embedOptions(c config.Config, model string) llm.Options {
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
func recallDeadline(c config.Config) time.Duration {
	remote := strings.HasPrefix(c.Embedder, config.RemoteModel) || c.Store.Postgres()
	if remote && !c.IsSet("recall.deadline") {
		return remoteDeadline
	}
	return c.Recall.Deadline
}
