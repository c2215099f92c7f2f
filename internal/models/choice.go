package models

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/model/hub"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/memory"
)

// tryEmbeddingsTimeout is the time limit of the request at the start that tries the upstream's embeddings.
const tryEmbeddingsTimeout = 2 * time.Second

// EmbedderChoice is the chosen embedder with the reason.
type EmbedderChoice struct {
	Embedder   string   // value of the setting embedder, but never auto
	Why        string   // reason for the choice, for people
	Suggestion string   // command that would improve recall, with its effect; "" if there is none
	OpenErrors []string // errors of models that could not be opened

	openedEmbedder *embed.Cache         // the opened model; nil if [Open] must open the model
	unconfirmed    *unconfirmedEmbedder // embedder of an upstream that did not respond at the start; nil if the choice is final
}

// Current returns the current choice and its problem; "" means no problem. The choice changes at most once:
// when a server that did not respond at the start responds without having the model.
func (c EmbedderChoice) Current() (_ EmbedderChoice, problem string) {
	switch {
	case c.unconfirmed == nil || c.unconfirmed.confirmed.Load():
		return c, ""
	case c.unconfirmed.Remote():
		return c, "the upstream does not answer, so Loci does not know whether it has " + c.Embedder + ", which the profile names; until it answers, recall uses only words"
	}
	c.chooseLexical("the upstream has no "+c.Embedder, c.Embedder)
	return c, ""
}

// chooseLexical changes the choice to the lexical embedder, which searches by words only, and suggests another.
func (c *EmbedderChoice) chooseLexical(reason, wantedModel string) {
	suggested, ok := strings.CutPrefix(wantedModel, config.LocalModel)
	if !ok {
		suggested = "all-MiniLM-L6-v2"
	}
	c.Embedder, c.Why, c.openedEmbedder = config.Lexical, reason, nil
	c.Suggestion = "loci models pull " + suggested + " (about 100 MB, once) also finds memories with the same meaning in other words"
}

// unconfirmedEmbedder is a remote embedder whose server did not respond at the start. If a later response
// shows that the server lacks the model, unconfirmedEmbedder uses the lexical embedder instead.
type unconfirmedEmbedder struct {
	*llm.Embedder
	confirmed    atomic.Bool // whether the server has returned vectors
	modelMissing atomic.Bool // whether the server lacks the model
}

func (a *unconfirmedEmbedder) currentEmbedder() memory.Embedder {
	if a.modelMissing.Load() {
		return embed.Lexical{}
	}
	return a.Embedder
}

// Fingerprint, Dims, OfWords and Remote describe the embedder in use: the remote or the lexical one.
func (a *unconfirmedEmbedder) Fingerprint() string { return a.currentEmbedder().Fingerprint() }
func (a *unconfirmedEmbedder) Dims() int           { return a.currentEmbedder().Dims() }
func (a *unconfirmedEmbedder) OfWords() bool       { return a.modelMissing.Load() }
func (a *unconfirmedEmbedder) Remote() bool        { return !a.modelMissing.Load() }

// Skipped returns the reason why requests currently skip the server, or nil.
func (a *unconfirmedEmbedder) Skipped() error {
	if a.OfWords() {
		return nil
	}
	return a.Embedder.Skipped()
}

// Embed implements [memory.Embedder].
func (a *unconfirmedEmbedder) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	out, err := a.currentEmbedder().Embed(ctx, as, texts...)
	switch {
	case err == nil:
		a.confirmed.Store(!a.modelMissing.Load())
	case !a.confirmed.Load() && lacksModel(err):
		a.modelMissing.Store(true)
		return a.currentEmbedder().Embed(ctx, as, texts...)
	}
	return out, err
}

// lacksModel reports whether an error shows that the server does not have the embedding model.
func lacksModel(err error) bool {
	var statusErr interface{ Status() int }
	return isRefusal(err) || errors.Is(err, memory.Invalid) || errors.As(err, &statusErr) && statusErr.Status() == http.StatusNotImplemented
}

// ChooseEmbedder replaces the value auto of the setting embedder. Its first choice is the best encoder in the
// models folder, its second choice the profile's remote embedder if the upstream has this model, its last
// choice the lexical embedder.
func ChooseEmbedder(ctx context.Context, c config.Config) (config.Config, EmbedderChoice) {
	if c.Embedder != config.AutoEmbedder {
		return c, EmbedderChoice{Embedder: c.Embedder, Why: "the settings name it"}
	}
	choice := EmbedderChoice{Embedder: config.Lexical}
	names, err := encoderNames(c)
	if err != nil {
		choice.OpenErrors = append(choice.OpenErrors, err.Error())
	}
	for _, name := range names {
		cache, err := openEncoder(c, name)
		if err != nil {
			choice.OpenErrors = append(choice.OpenErrors, err.Error())
			continue
		}
		choice.Embedder, choice.Why, choice.openedEmbedder = config.LocalModel+name, "it is the best model in the models folder", cache
		return c.WithEmbedder(choice.Embedder), choice
	}
	wanted := c.MissingEmbedder()
	if name, ok := strings.CutPrefix(wanted, config.RemoteModel); ok && EmbedOptions(c, name).BaseURL != "" {
		err := tryEmbeddings(ctx, c, name)
		if !lacksModel(err) {
			choice.Embedder, choice.Why = wanted, "the profile names it, and the upstream has it"
			if err != nil {
				choice.Why = "the profile names it; the upstream did not answer at the start"
				remote, err := newRemoteEmbedder(c, name)
				if err != nil {
					return c, choice
				}
				choice.unconfirmed = &unconfirmedEmbedder{Embedder: remote}
				choice.openedEmbedder = embed.NewCache(choice.unconfirmed)
			}
			return c.WithEmbedder(choice.Embedder), choice
		}
		choice.chooseLexical(fmt.Sprintf("the upstream cannot compute embeddings with %s: %v", name, err), wanted)
	} else {
		choice.chooseLexical("no model is installed", wanted)
	}
	return c.WithEmbedder(choice.Embedder), choice
}

// tryEmbeddings requests one vector from the remote embedder.
func tryEmbeddings(ctx context.Context, c config.Config, model string) error {
	e, err := newRemoteEmbedder(c, model)
	if err != nil {
		return err
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(ctx, tryEmbeddingsTimeout)
	defer cancel()
	_, err = e.Embed(ctx, memory.AsQuestion, "memory")
	return err
}

// encoderNames returns the names of the encoders in the models folder, best first, without opening them.
func encoderNames(c config.Config) ([]string, error) {
	dir, err := c.ModelsFolder()
	if err != nil {
		return nil, err
	}
	installed, err := hub.List(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range installed {
		if !isCrossEncoder(m.Dir) {
			out = append(out, m.Name)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(hub.QualityRank(a), hub.QualityRank(b)) })
	return out, nil
}

// isCrossEncoder reports whether the config.json in a model's folder describes a classifier of text pairs.
func isCrossEncoder(dir string) bool {
	var modelConfig struct {
		Architectures []string `json:"architectures"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil || json.Unmarshal(data, &modelConfig) != nil {
		return false // opening the model reports the error
	}
	return slices.ContainsFunc(modelConfig.Architectures, func(a string) bool { return strings.HasSuffix(a, "ForSequenceClassification") })
}

// LocalModelsInUse returns the names of the local models that the settings use.
func LocalModelsInUse(c config.Config) ([]string, error) {
	if c.Embedder == config.AutoEmbedder {
		names, err := encoderNames(c)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			c.Embedder = config.LocalModel + names[0]
		}
	}
	return c.LocalModelNames(), nil
}
