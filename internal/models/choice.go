package models

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/model/hub"
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

	opened *embed.Cache // of a local model; nil: it is not opened yet
}

// ChooseEmbedder returns the settings with the embedder that is used where they say auto: the
// best encoder in the models folder; else the remote one that the profile names, if the upstream
// answers with its vectors; else words alone.
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
		if err == nil {
			choice.Embedder, choice.Why = wanted, "the profile names it, and the upstream has it"
			return c.WithEmbedder(choice.Embedder), choice
		}
		choice.Why = fmt.Sprintf("the upstream gave no vectors by %s: %v", name, err)
	} else {
		choice.Why = "no model is at hand"
	}
	pull := "all-MiniLM-L6-v2"
	if name, ok := strings.CutPrefix(wanted, config.LocalModel); ok {
		pull = name
	}
	choice.Better = "loci models pull " + pull + " (about 100 MB, once) also finds what is said in other words"
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
