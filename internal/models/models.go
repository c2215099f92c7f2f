// Package models opens the embedder and the reranker in the settings, and chooses the model that learns.
package models

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
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/internal/model/transformer"
	"github.com/loci-memory/loci/memory"
)

// Models are the embedder and the reranker in the settings.
type Models struct {
	Embedder memory.Embedder
	Reranker memory.Reranker // nil if there is none
	Config   config.Config   // the settings from which the models were opened
	closers  []func()
}

// Close closes connections to servers.
func (m *Models) Close() error {
	for _, f := range m.closers {
		f()
	}
	return nil
}

// Open loads local models and creates clients of remote models, without network requests. If the settings
// name the chosen embedder, Open reuses it. A missing local model is [memory.Invalid], with instructions.
func Open(c config.Config, chosen EmbedderChoice) (_ *Models, err error) {
	m := &Models{Embedder: embed.Lexical{}, Config: c}
	if chosen.openedEmbedder != nil && c.Embedder == chosen.Embedder {
		m.Embedder = chosen.openedEmbedder
		if chosen.unconfirmed != nil {
			m.closers = append(m.closers, chosen.unconfirmed.Close)
		}
	} else if name, ok := strings.CutPrefix(c.Embedder, config.LocalModel); ok {
		if m.Embedder, err = openEncoder(c, name); err != nil {
			return nil, err
		}
	} else if name, ok := strings.CutPrefix(c.Embedder, config.RemoteModel); ok {
		remote, err := newRemoteEmbedder(c, name)
		if err != nil {
			return nil, fmt.Errorf("embedder: %w", err)
		}
		m.Embedder, m.closers = embed.NewCache(remote), append(m.closers, remote.Close)
	}
	if name, ok := strings.CutPrefix(c.Reranker, config.LocalModel); ok {
		model, err := openLocalModel(c, "reranker", name)
		if err != nil {
			return nil, err
		}
		if !model.IsCrossEncoder() {
			return nil, memory.Errorf(memory.Invalid, "reranker: %s computes vectors and cannot compare texts; use it as the embedder", name)
		}
		m.Reranker = model
	}
	if name, ok := strings.CutPrefix(c.Reranker, config.RemoteModel); ok {
		remote, err := llm.NewReranker(EmbedOptions(c, name))
		if err != nil {
			return nil, fmt.Errorf("reranker: %w", err)
		}
		m.Reranker, m.closers = remote, append(m.closers, remote.Close)
	}
	return m, nil
}

// openEncoder loads an encoder from the models folder and measures its mean cosine of unrelated texts.
func openEncoder(c config.Config, name string) (*embed.Cache, error) {
	model, err := openLocalModel(c, "embedder", name)
	if err != nil {
		return nil, err
	}
	if model.IsCrossEncoder() {
		return nil, memory.Errorf(memory.Invalid, "embedder: %s is a cross-encoder, which compares texts and has no vectors; use it as the reranker", name)
	}
	cache := embed.NewCache(model)
	if err := cache.Measure(context.Background()); err != nil {
		return nil, fmt.Errorf("embedder: %s: %w", name, err)
	}
	return cache, nil
}

// openLocalModel loads a model from the models folder. Errors begin with the setting's name.
func openLocalModel(c config.Config, setting, name string) (*transformer.Model, error) {
	dir, err := c.ModelsFolder()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, memory.Errorf(memory.Invalid, "%s: there is no model %s in %s; get it with: loci models pull %s", setting, name, dir, name)
	}
	model, err := transformer.Open(path)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "%s: %v; check it with loci models verify %s; to replace it, use loci models remove and loci models pull", setting, err, name)
	}
	return model, nil
}

// embedTimeout is the maximum time for which a remote embedder or reranker may send no data.
const embedTimeout = 30 * time.Second

// newRemoteEmbedder returns a client of a remote embedder, with the prefixes of the local model of that name.
func newRemoteEmbedder(c config.Config, model string) (*llm.Embedder, error) {
	question, document := transformer.Prefixes(model)
	return llm.NewEmbedder(EmbedOptions(c, model), question, document)
}

// CheckRemote sends a small request to the remote embedder and the remote reranker in the settings. It
// returns the errors by the name of the setting: embedder or reranker.
func CheckRemote(ctx context.Context, c config.Config) map[string]error {
	errs := map[string]error{}
	if name, ok := strings.CutPrefix(c.Embedder, config.RemoteModel); ok {
		if err := tryEmbeddings(ctx, c, name); err != nil {
			errs["embedder"] = err
		}
	}
	if name, ok := strings.CutPrefix(c.Reranker, config.RemoteModel); ok {
		if err := tryReranker(ctx, c, name); err != nil {
			errs["reranker"] = err
		}
	}
	return errs
}

func tryReranker(ctx context.Context, c config.Config, model string) error {
	r, err := llm.NewReranker(EmbedOptions(c, model))
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = r.Rerank(ctx, "memory", "memory", "weather")
	return err
}

// EmbedOptions returns the client options of a remote embedder or reranker.
func EmbedOptions(c config.Config, model string) llm.Options {
	o := llm.Options{BaseURL: c.Embed.URL, Key: c.Embed.Key, Model: model, Timeout: embedTimeout}
	if o.BaseURL == "" {
		o.BaseURL = c.Upstream.URL
		if o.Key == "" {
			o.Key = c.Upstream.Key
		}
	}
	return o
}
