package config

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// The prefixes of a model's name in the settings embedder and reranker.
const (
	LocalModel  = "local:"
	RemoteModel = "remote:"
)

// Values of the setting embedder that name no model. AutoEmbedder means the best available embedder,
// which is chosen when models are opened (see [Config.WithEmbedder]).
const (
	AutoEmbedder = "auto"
	Lexical      = "lexical"
)

// modelsFolder is the name of the folder of models in the data folder.
const modelsFolder = "models"

// ModelsFolder returns the folder of local models.
func (c *Config) ModelsFolder() (string, error) {
	if c.ModelsDir != "" {
		return c.ModelsDir, nil
	}
	dir, err := c.DataDir()
	return filepath.Join(dir, modelsFolder), err
}

// LocalModelNames returns the names of the local models that the settings embedder and reranker name.
func (c *Config) LocalModelNames() []string {
	var out []string
	for _, s := range []string{c.Embedder, c.Reranker} {
		if name, ok := strings.CutPrefix(s, LocalModel); ok {
			out = append(out, name)
		}
	}
	return out
}

// checkModels refuses invalid values of embedder and reranker.
func (c *Config) checkModels() error {
	for _, m := range []struct {
		key, value string
		plain      []string
		example    string
	}{
		{"embedder", c.Embedder, []string{AutoEmbedder, Lexical}, "all-MiniLM-L6-v2"},
		{"reranker", c.Reranker, []string{"none"}, "ms-marco-MiniLM-L-6-v2"},
	} {
		local, isLocal := strings.CutPrefix(m.value, LocalModel)
		remote, isRemote := strings.CutPrefix(m.value, RemoteModel)
		switch {
		case slices.Contains(m.plain, m.value), isLocal && filepath.IsLocal(local):
		case isRemote && remote != "":
			if c.Embed.URL == "" && c.Upstream.URL == "" {
				return memory.Errorf(memory.Invalid, "%s: %q needs embed.url or upstream.url", m.key, m.value)
			}
		default:
			return memory.Errorf(memory.Invalid, "%s: invalid value %q; valid: %s, local:NAME of a model in models_dir, such as local:%s, or remote:MODEL",
				m.key, m.value, strings.Join(m.plain, ", "), m.example)
		}
	}
	return nil
}

// remoteDeadline is the default of recall.deadline with a remote model or a database server: one request
// to it may take as long as a complete local recall.
const remoteDeadline = 400 * time.Millisecond

// RecallDeadline returns recall.deadline, the maximum time that a chat waits for memory.
func (c *Config) RecallDeadline() time.Duration {
	remote := strings.HasPrefix(c.Embedder, RemoteModel) || strings.HasPrefix(c.Reranker, RemoteModel) || c.Store.IsServer() || c.Chroma.URL != ""
	if remote && !c.IsSet("recall.deadline") {
		return remoteDeadline
	}
	return c.Recall.Deadline
}
