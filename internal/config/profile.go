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

// profileFiles has a settings file for each profile. docs/profiles.md explains the origin of the
// numbers.
//
//go:embed profiles/*.yaml
var profileFiles embed.FS

// defaultProfile is the name of the profile without settings.
const defaultProfile = "default"

// ProfileNames returns the names of all profiles, the default profile first.
func ProfileNames() []string {
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

// loadProfile returns the settings and the preset of a profile. For an unknown name it returns
// [memory.Invalid] with the names of the profiles.
func loadProfile(name string) (map[string]any, Preset, error) {
	if name == defaultProfile {
		return nil, defaultPreset(), nil
	}
	if !slices.Contains(ProfileNames(), name) {
		return nil, Preset{}, memory.Errorf(memory.Invalid, "profile: unknown profile %s; valid: %s", name, strings.Join(ProfileNames(), ", "))
	}
	file := "profiles/" + name + ".yaml"
	data, err := profileFiles.ReadFile(file)
	if err != nil {
		return nil, Preset{}, fmt.Errorf("read the profile: %w", err)
	}
	settings, preset, err := parseProfile(data)
	if err != nil {
		return nil, Preset{}, fmt.Errorf("%s: %w", file, err)
	}
	for _, key := range keysOf(settings) {
		if err := checkKey(file, key); err != nil {
			return nil, Preset{}, err
		}
	}
	return settings, preset, nil
}

// profileName returns the value of the setting profile; later sources override earlier sources.
func profileName(sources []map[string]any) (string, error) {
	name := defaultProfile
	for _, values := range sources {
		switch v := values["profile"].(type) {
		case nil:
		case string:
			name = v
		default:
			return "", memory.Errorf(memory.Invalid, "profile: unknown profile %v; valid: %s", v, strings.Join(ProfileNames(), ", "))
		}
	}
	return name, nil
}

// profileSource returns the source of values from a profile, as [Config.SourceOf] returns it.
func profileSource(name string) string { return "profile " + name }

// ProfileValues returns the settings with values from the profile, for example "recall.top_k=5", in
// the order of the settings page. A missing model of the profile appears as its replacement.
func (c *Config) ProfileValues() []string {
	if c.Profile == defaultProfile { // a profile without settings
		return nil
	}
	var out []string
	for _, s := range c.ListSettings() {
		if s.From == profileSource(c.Profile) {
			out = append(out, s.Key+"="+strings.ReplaceAll(s.Value, ", ", ",")) // as in --set: no space after a comma
		}
	}
	return out
}

// MissingModels lists the missing models of the profile, each with its replacement.
func (c *Config) MissingModels() []string { return c.missingModels }

// replaceMissingModels replaces missing models of the profile (a local model without a folder, a remote
// model without embed.url). A missing embedder becomes AutoEmbedder; the replacement is chosen when models
// are opened. The argument profileSettings has the profile's settings.
func (c *Config) replaceMissingModels(profileSettings map[string]any) error {
	c.profileEmbedder, _ = profileSettings["embedder"].(string)
	if c.sources["embedder"] == profileSource(c.Profile) {
		missing, err := c.missingModelAdvice(c.Embedder)
		if err != nil {
			return err
		}
		if missing != "" {
			c.embedderAdvice, c.Embedder = missing, AutoEmbedder
		}
	}
	if c.sources["reranker"] == profileSource(c.Profile) {
		missing, err := c.missingModelAdvice(c.Reranker)
		if err != nil {
			return err
		}
		if missing != "" {
			c.missingModels = append(c.missingModels, fmt.Sprintf("reranker %s (%s): using none", c.Reranker, missing))
			c.Reranker = "none"
		}
	}
	if c.sources["vault"] == profileSource(c.Profile) {
		// A profile's vault is a path in the data folder. Only the store sqlite uses a data folder.
		if c.Vault = filepath.Join(c.Data, c.Vault); c.Store != "sqlite" {
			c.Vault = ""
		}
	}
	if c.Embedder != AutoEmbedder || c.Recall.Score == scoreReranker {
		c.resetScoreSettings()
	}
	return nil
}

// MissingEmbedder returns the embedder of the profile if it is missing, otherwise "".
func (c *Config) MissingEmbedder() string {
	if c.embedderAdvice == "" {
		return ""
	}
	return c.profileEmbedder
}

// WithEmbedder returns c with another embedder, which the caller has chosen for [AutoEmbedder].
func (c Config) WithEmbedder(name string) Config {
	c.Embedder, c.missingModels = name, slices.Clone(c.missingModels)
	if c.embedderAdvice != "" && name != c.profileEmbedder {
		c.missingModels = append(c.missingModels, fmt.Sprintf("embedder %s (%s): using %s", c.profileEmbedder, c.embedderAdvice, name))
	}
	c.resetScoreSettings()
	return c
}

// resetScoreSettings resets settings of the profile that only work with the profile's models.
func (c *Config) resetScoreSettings() {
	if c.sources["recall.score"] == profileSource(c.Profile) && c.Recall.Score != scoreFitted && !c.hasScoreModel() {
		if c.sources["recall.threshold"] != profileSource(c.Profile) {
			needs := "the profile's embedder"
			if c.Recall.Score == scoreReranker {
				needs = "a reranker"
			}
			c.missingModels = append(c.missingModels, fmt.Sprintf("recall.score %s (needs %s): using fitted, so recall.threshold %g is compared with fitted scores", c.Recall.Score, needs, c.Recall.Threshold))
		} else {
			c.Recall.Threshold = -1 // the profile's threshold is on the scale of another score
		}
		c.Recall.Score = scoreFitted
	}
	if !c.hasScoreModel() {
		c.Preset.EmbedAs = "question" // only the profile's model may need questions encoded as documents
	}
	// The words that Expand adds to a question move the question's vector towards facts about the user.
	// A search by words only has no use for the added words, which match no memory.
	if c.Embedder == Lexical {
		c.Preset.Expand = false
	}
}

// Values of recall.score. The default, fitted, needs no model.
const (
	scoreFitted   = "fitted"
	scoreReranker = "reranker"
)

// hasScoreModel reports whether the model for the profile's recall.score is available: any reranker,
// or the embedder of the profile, local or remote.
func (c *Config) hasScoreModel() bool {
	if c.Recall.Score == scoreReranker {
		return c.Reranker != "none"
	}
	return c.UsesProfileEmbedder()
}

// UsesProfileEmbedder reports whether the embedder in use is the embedder of the profile.
func (c *Config) UsesProfileEmbedder() bool {
	name := func(model string) string {
		_, model, _ = strings.Cut(model, ":")
		return strings.ToLower(model[strings.LastIndex(model, "/")+1:])
	}
	return name(c.Embedder) == name(c.profileEmbedder)
}

// missingModelAdvice returns advice on how to get a missing model, or "" if the model is available.
func (c *Config) missingModelAdvice(model string) (string, error) {
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
		return "set embed.url to the URL of its server", nil
	}
	return "", nil
}
