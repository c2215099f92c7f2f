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

// profileFiles has one settings file for each profile. docs/profiles.md explains where the numbers
// come from.
//
//go:embed profiles/*.yaml
var profileFiles embed.FS

// defaultProfile is the profile without settings.
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

// fromProfile returns the settings and the preset of a profile. For an unknown name the error is
// [memory.Invalid] and lists the profiles.
func fromProfile(name string) (map[string]any, Preset, error) {
	if name == defaultProfile {
		return nil, plainPreset(), nil
	}
	if !slices.Contains(Profiles(), name) {
		return nil, Preset{}, memory.Errorf(memory.Invalid, "profile: unknown profile %s; valid: %s", name, strings.Join(Profiles(), ", "))
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

// profileNamed returns the profile that the last of these sources names; later sources override
// earlier ones.
func profileNamed(sources []map[string]any) (string, error) {
	name := defaultProfile
	for _, values := range sources {
		switch v := values["profile"].(type) {
		case nil:
		case string:
			name = v
		default:
			return "", memory.Errorf(memory.Invalid, "profile: unknown profile %v; valid: %s", v, strings.Join(Profiles(), ", "))
		}
	}
	return name, nil
}

// profileSource returns the source of a value that a profile set.
func profileSource(name string) string { return "profile " + name }

// ProfileSets returns the settings whose values come from the profile, for example "recall.top_k=5",
// in the order of the settings page. A missing model of the profile appears as the model that
// replaces it.
func (c *Config) ProfileSets() []string {
	if c.Profile == defaultProfile { // this profile has no settings
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

// ProfileLacks lists the missing models that the profile names, with their replacements.
func (c *Config) ProfileLacks() []string { return c.lacks }

// settle replaces models that only the profile names and that are missing: a local model without a
// folder, or a remote model without embed.url. The replacement of an embedder is chosen when models
// are opened, as for auto.
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
			c.lacks = append(c.lacks, fmt.Sprintf("reranker %s (%s): using none", c.Reranker, missing))
			c.Reranker = "none"
		}
	}
	if c.from["vault"] == profileSource(c.Profile) {
		// The profile's vault is in the data folder, which only the store sqlite uses.
		if c.Vault = filepath.Join(c.Data, c.Vault); c.Store != "sqlite" {
			c.Vault = ""
		}
	}
	if c.Embedder != AutoEmbedder || c.Recall.Score == scoreReranker {
		c.fitScore()
	}
	return nil
}

// Wanted returns the embedder that the profile names if it is missing, otherwise "".
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
		c.lacks = append(c.lacks, fmt.Sprintf("embedder %s (%s): using %s", c.named, c.lack, name))
	}
	c.fitScore()
	return c
}

// fitScore resets settings of the profile that only work with the profile's own models.
func (c *Config) fitScore() {
	if c.from["recall.score"] == profileSource(c.Profile) && c.Recall.Score != scoreFitted && !c.scores() {
		if c.from["recall.threshold"] != profileSource(c.Profile) {
			needs := "the profile's embedder"
			if c.Recall.Score == scoreReranker {
				needs = "a reranker"
			}
			c.lacks = append(c.lacks, fmt.Sprintf("recall.score %s (needs %s): using fitted, and recall.threshold %g is on the scale of fitted", c.Recall.Score, needs, c.Recall.Threshold))
		} else {
			c.Recall.Threshold = -1 // the profile's threshold is on the scale of another score
		}
		c.Recall.Score = scoreFitted
	}
	if !c.scores() {
		c.Preset.EmbedAs = "question" // other models than the profile's expect questions
	}
	// The words that Expand adds to a question move its vector towards facts about the user. For
	// the lexical embedder they are only words that no memory contains.
	if c.Embedder == Lexical {
		c.Preset.Expand = false
	}
}

// Values of recall.score. The default, fitted, needs no model.
const (
	scoreFitted   = "fitted"
	scoreReranker = "reranker"
)

// scores reports whether the model for the profile's recall.score is available: any reranker, or
// the embedder that the profile names, wherever it runs.
func (c *Config) scores() bool {
	if c.Recall.Score == scoreReranker {
		return c.Reranker != "none"
	}
	return c.OwnEmbedder()
}

// OwnEmbedder reports whether the profile names the embedder in use.
func (c *Config) OwnEmbedder() bool {
	name := func(model string) string {
		_, model, _ = strings.Cut(model, ":")
		return strings.ToLower(model[strings.LastIndex(model, "/")+1:])
	}
	return name(c.Embedder) == name(c.named)
}

// missing returns how to get a missing model, or "" if the model is available.
func (c *Config) missing(model string) (string, error) {
	if name, ok := strings.CutPrefix(model, LocalModel); ok {
		dir, err := c.ModelsFolder()
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "download it with: loci models pull " + name, nil
		}
		return "", nil
	}
	if strings.HasPrefix(model, RemoteModel) && c.Embed.URL == "" {
		return "set embed.url to its server", nil
	}
	return "", nil
}
