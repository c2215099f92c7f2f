package config

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// profileFiles are the settings that a profile loads together, each a file like a
// user's own. docs/profiles.md says where the numbers are from.
//
//go:embed profiles/*.yaml
var profileFiles embed.FS

// defaultProfile is the profile that sets nothing.
const defaultProfile = "default"

// Profiles returns the names of all profiles, the default one first.
func Profiles() []string {
	files, err := fs.Glob(profileFiles, "profiles/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	names := []string{defaultProfile}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".yaml"))
	}
	return names
}

// fromProfile returns the settings and the preset of a profile. [memory.Invalid], with those that
// there are, for a name that is none.
func fromProfile(name string) (map[string]any, Preset, error) {
	if name == defaultProfile {
		return nil, plainPreset(), nil
	}
	if !slices.Contains(Profiles(), name) {
		return nil, Preset{}, memory.Errorf(memory.Invalid, "profile: %s is not possible here; valid: %s", name, strings.Join(Profiles(), ", "))
	}
	file := "profiles/" + name + ".yaml"
	data, err := profileFiles.ReadFile(file)
	if err != nil {
		return nil, Preset{}, fmt.Errorf("read the profile: %w", err)
	}
	settings, preset, err := readProfile(data)
	if err != nil {
		return nil, Preset{}, fmt.Errorf("%s: %w", file, err)
	}
	for _, key := range keysOf(settings) {
		if err := known(file, key); err != nil {
			return nil, Preset{}, err
		}
	}
	return settings, preset, nil
}

// profileNamed returns the profile that the strongest of these sources names, the
// weakest first.
func profileNamed(sources []map[string]any) (string, error) {
	name := defaultProfile
	for _, values := range sources {
		switch v := values["profile"].(type) {
		case nil:
		case string:
			name = v
		default:
			return "", memory.Errorf(memory.Invalid, "profile: %v is not possible here; valid: %s", v, strings.Join(Profiles(), ", "))
		}
	}
	return name, nil
}

// profileSource is where a value is from that a profile set.
func profileSource(name string) string { return "profile " + name }

// ProfileSets returns what the profile set and nothing stronger took back, as
// "recall.top_k=5", in the order of the settings page. Models that it names and that
// are not at hand are as they stand now.
func (c *Config) ProfileSets() []string {
	if c.Profile == defaultProfile { // it sets nothing
		return nil
	}
	var out []string
	for _, s := range c.Shown() {
		if s.From == profileSource(c.Profile) {
			out = append(out, s.Key+"="+strings.ReplaceAll(s.Value, ", ", ",")) // one word, as after --set
		}
	}
	return out
}

// ProfileLacks says which models the profile names that are not at hand, and what
// stands in for each.
func (c *Config) ProfileLacks() []string { return c.lacks }

// settle puts others in the place of models that the profile alone names and that are not at
// hand: a local one whose folder is not there, a remote one while embed.url names no server
// for it. An embedder's is chosen when models are opened, as for auto.
func (c *Config) settle(profile map[string]any) error {
	c.named, _ = profile["embedder"].(string)
	if c.from["embedder"] == profileSource(c.Profile) {
		missing, err := c.missing(c.Embedder)
		if err != nil {
			return err
		}
		if missing != "" {
			c.lack, c.Embedder = missing, AutoEmbedder
		}
	}
	if c.from["reranker"] == profileSource(c.Profile) {
		missing, err := c.missing(c.Reranker)
		if err != nil {
			return err
		}
		if missing != "" {
			c.lacks = append(c.lacks, fmt.Sprintf("reranker %s (%s): none stands in", c.Reranker, missing))
			c.Reranker = "none"
		}
	}
	if c.from["vault"] == profileSource(c.Profile) {
		// It is a folder in the data folder, and only SQLite's memory is kept there.
		if c.Vault = filepath.Join(c.Data, c.Vault); c.Store != "sqlite" {
			c.Vault = ""
		}
	}
	if c.Embedder != AutoEmbedder || c.Recall.Score == scoreReranker {
		c.fitScore()
	}
	return nil
}

// Wanted is the embedder that the profile names and that is not at hand, "" if there is none.
func (c *Config) Wanted() string {
	if c.lack == "" {
		return ""
	}
	return c.named
}

// WithEmbedder returns the settings with the embedder that was chosen for [AutoEmbedder].
func (c Config) WithEmbedder(name string) Config {
	c.Embedder, c.lacks = name, slices.Clone(c.lacks)
	if c.lack != "" && name != c.named {
		c.lacks = append(c.lacks, fmt.Sprintf("embedder %s (%s): %s stands in", c.named, c.lack, name))
	}
	c.fitScore()
	return c
}

// fitScore takes back what the profile sets and other models than its own cannot do.
func (c *Config) fitScore() {
	if c.from["recall.score"] == profileSource(c.Profile) && c.Recall.Score != scoreFitted && !c.scores() {
		if c.from["recall.threshold"] != profileSource(c.Profile) {
			needs := "the profile's embedder"
			if c.Recall.Score == scoreReranker {
				needs = "a reranker"
			}
			c.lacks = append(c.lacks, fmt.Sprintf("recall.score %s (needs %s): fitted stands in, and recall.threshold %g is on its scale", c.Recall.Score, needs, c.Recall.Threshold))
		} else {
			c.Recall.Threshold = -1 // the profile's says nothing of another score
		}
		c.Recall.Score = scoreFitted
	}
	if !c.scores() {
		c.Preset.EmbedAs = "question" // as another model than the profile's expects it
	}
	// Words that are added to a question draw its vector to what is about the user. To
	// an embedder of words they are words that no memory has.
	if c.Embedder == Lexical {
		c.Preset.Expand = false
	}
}

// Values of recall.score. Loci's own, fitted, needs no model.
const (
	scoreFitted   = "fitted"
	scoreReranker = "reranker"
)

// scores reports whether the model is at hand on whose score the profile's threshold is: any
// reranker, and of embedders the one that the profile names, wherever it runs.
func (c *Config) scores() bool {
	if c.Recall.Score == scoreReranker {
		return c.Reranker != "none"
	}
	return c.OwnEmbedder()
}

// OwnEmbedder reports whether the embedder is the one that the profile names.
func (c *Config) OwnEmbedder() bool {
	name := func(model string) string {
		_, model, _ = strings.Cut(model, ":")
		return strings.ToLower(model[strings.LastIndex(model, "/")+1:])
	}
	return name(c.Embedder) == name(c.named)
}

// missing says what there would have to be for a model to be had, "" if it is there.
func (c *Config) missing(model string) (string, error) {
	if name, ok := strings.CutPrefix(model, LocalModel); ok {
		dir, err := c.ModelsFolder()
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "get it with: loci models pull " + name, nil
		}
		return "", nil
	}
	if strings.HasPrefix(model, RemoteModel) && c.Embed.URL == "" {
		return "name its server in embed.url", nil
	}
	return "", nil
}
