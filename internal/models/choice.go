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

// tryTime is how long the start waits for an upstream that may have embeddings.
const tryTime = 2 * time.Second

// Choice is the embedder that is used, and why.
type Choice struct {
	Embedder string   // as the setting has it; never auto
	Why      string   // for people
	Better   string   // what would find more, with the command; "" where nothing is known
	Broken   []string // models that were passed over because they cannot be opened, with the reason

	opened  *embed.Cache // nil: it is not opened yet
	awaited *awaited     // nil: it is decided
}

// Now returns the choice as it is by now, with what is wrong: it changes once, when a server that
// was away at the start answers.
func (c Choice) Now() (_ Choice, wrong string) {
	switch {
	case c.awaited == nil || c.awaited.has.Load():
		return c, ""
	case c.awaited.Remote():
		return c, "the upstream does not answer; whether it has " + c.Embedder + ", which the profile names, is not known yet, and words alone find"
	}
	c.words("the upstream has no "+c.Embedder, c.Embedder)
	return c, ""
}

// words makes it the choice of words alone, where another embedder was wanted.
func (c *Choice) words(why, wanted string) {
	better, ok := strings.CutPrefix(wanted, config.LocalModel)
	if !ok {
		better = "all-MiniLM-L6-v2"
	}
	c.Embedder, c.Why, c.opened = config.Lexical, why, nil
	c.Better = "loci models pull " + better + " (about 100 MB, once) also finds what is said in other words"
}

// awaited is a remote embedder whose server did not answer at the start. Once the server answers that
// it has no such model, words alone embed, as they would have from the start.
type awaited struct {
	*llm.Embedder
	has   atomic.Bool // it gave vectors
	words atomic.Bool // it has none
}

func (a *awaited) now() memory.Embedder {
	if a.words.Load() {
		return embed.Lexical{}
	}
	return a.Embedder
}

// Fingerprint, Dims, OfWords and Remote are those of the one that embeds now.
func (a *awaited) Fingerprint() string { return a.now().Fingerprint() }
func (a *awaited) Dims() int           { return a.now().Dims() }
func (a *awaited) OfWords() bool       { return a.words.Load() }
func (a *awaited) Remote() bool        { return !a.words.Load() }

// Skipped returns why the server is not asked for now.
func (a *awaited) Skipped() error {
	if a.OfWords() {
		return nil
	}
	return a.Embedder.Skipped()
}

// Embed implements [memory.Embedder].
func (a *awaited) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	out, err := a.now().Embed(ctx, as, texts...)
	switch {
	case err == nil:
		a.has.Store(!a.words.Load())
	case !a.has.Load() && hasNone(err):
		a.words.Store(true)
		return a.now().Embed(ctx, as, texts...)
	}
	return out, err
}

// hasNone reports whether a server answered that it gives no such vectors.
func hasNone(err error) bool {
	var answered interface{ Status() int }
	return refused(err) || errors.Is(err, memory.Invalid) || errors.As(err, &answered) && answered.Status() == http.StatusNotImplemented
}

// ChooseEmbedder returns the settings with the embedder that is used where they say auto: the
// best encoder in the models folder; else the remote one that the profile names, unless the upstream
// answers that it has none; else words alone.
func ChooseEmbedder(ctx context.Context, c config.Config) (config.Config, Choice) {
	if c.Embedder != config.AutoEmbedder {
		return c, Choice{Embedder: c.Embedder, Why: "the settings name it"}
	}
	choice := Choice{Embedder: config.Lexical}
	names, err := encoders(c)
	if err != nil {
		choice.Broken = append(choice.Broken, err.Error())
	}
	for _, name := range names {
		cache, err := openEncoder(c, name)
		if err != nil {
			choice.Broken = append(choice.Broken, err.Error())
			continue
		}
		choice.Embedder, choice.Why, choice.opened = config.LocalModel+name, "it lies in the folder of models", cache
		return c.WithEmbedder(choice.Embedder), choice
	}
	wanted := c.Wanted()
	if name, ok := strings.CutPrefix(wanted, config.RemoteModel); ok && EmbedOptions(c, name).BaseURL != "" {
		err := tryEmbeddings(ctx, c, name)
		if !hasNone(err) {
			choice.Embedder, choice.Why = wanted, "the profile names it, and the upstream has it"
			if err != nil {
				choice.Why = "the profile names it; the upstream did not answer at the start"
				remote, err := newRemote(c, name)
				if err != nil {
					return c, choice
				}
				choice.awaited = &awaited{Embedder: remote}
				choice.opened = embed.NewCache(choice.awaited)
			}
			return c.WithEmbedder(choice.Embedder), choice
		}
		choice.words(fmt.Sprintf("the upstream gave no vectors by %s: %v", name, err), wanted)
	} else {
		choice.words("no model is at hand", wanted)
	}
	return c.WithEmbedder(choice.Embedder), choice
}

// tryEmbeddings asks the upstream once for a vector.
func tryEmbeddings(ctx context.Context, c config.Config, model string) error {
	e, err := newRemote(c, model)
	if err != nil {
		return err
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	_, err = e.Embed(ctx, memory.AsQuestion, "memory")
	return err
}

// encoders returns the names of the encoders in the models folder, the best first. Whether
// they can be opened is not known yet.
func encoders(c config.Config) ([]string, error) {
	dir, err := c.ModelsFolder()
	if err != nil {
		return nil, err
	}
	all, err := hub.List(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range all {
		if !crossEncoder(m.Dir) {
			out = append(out, m.Name)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(hub.Preference(a), hub.Preference(b)) })
	return out, nil
}

// crossEncoder reports whether the settings of a model say that it classifies pairs of texts.
func crossEncoder(dir string) bool {
	var is struct {
		Architectures []string `json:"architectures"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil || json.Unmarshal(data, &is) != nil {
		return false // opening it says what is wrong
	}
	return slices.ContainsFunc(is.Architectures, func(a string) bool { return strings.HasSuffix(a, "ForSequenceClassification") })
}

// InUse returns the names of the local models that the settings lead to.
func InUse(c config.Config) ([]string, error) {
	if c.Embedder == config.AutoEmbedder {
		names, err := encoders(c)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			c.Embedder = config.LocalModel + names[0]
		}
	}
	return c.ModelsInUse(), nil
}
