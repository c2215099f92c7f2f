package config

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

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

// fromProfile returns the settings of a profile. [memory.Invalid], with those that
// there are, for a name that is none.
func fromProfile(name string) (map[string]any, error) {
	if name == defaultProfile {
		return nil, nil
	}
	if !slices.Contains(Profiles(), name) {
		return nil, memory.Errorf(memory.Invalid, "profile: %s is not possible here; valid: %s", name, strings.Join(Profiles(), ", "))
	}
	file := "profiles/" + name + ".yaml"
	data, err := profileFiles.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, key := range keysOf(tree) {
		if err := known(file, key); err != nil {
			return nil, err
		}
	}
	return tree, nil
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

// settle puts what needs no model in the place of models that the profile alone
// names and that are not at hand: a local one whose folder is not there, a remote one
// while embed.url names no server for it. Servers of chats often embed nothing, so
// that upstream.url does not count.
func (c *Config) settle(profile map[string]any) error {
	for _, m := range []struct {
		key   string
		value *string
		plain string
	}{{"embedder", &c.Embedder, "lexical"}, {"reranker", &c.Reranker, "none"}} {
		if c.from[m.key] != profileSource(c.Profile) {
			continue
		}
		missing, err := c.missing(*m.value)
		if err != nil {
			return err
		}
		if missing != "" {
			c.lacks = append(c.lacks, fmt.Sprintf("%s %s (%s): %s stands in", m.key, *m.value, missing, m.plain))
			*m.value = m.plain
		}
	}
	if c.Index.OffloadAbove == 0 {
		c.Index.OffloadAbove = c.Index.Huge
	}
	if c.from["recall.score"] == profileSource(c.Profile) && !c.scores(profile) {
		if c.from["recall.threshold"] != profileSource(c.Profile) {
			needs := "the profile's embedder"
			if c.Recall.Score == "reranker" {
				needs = "a reranker"
			}
			c.lacks = append(c.lacks, fmt.Sprintf("recall.score %s (needs %s): fitted stands in, and recall.threshold %g is on its scale", c.Recall.Score, needs, c.Recall.Threshold))
		} else if t, ok := fittedThresholds[c.Profile]; ok {
			c.Recall.Threshold = t
		}
		c.Recall.Score = scoreFitted
	}
	if c.from["vault"] == profileSource(c.Profile) {
		// It is a folder in the data folder, and only SQLite's memory is kept there.
		if c.Vault = filepath.Join(c.Data, c.Vault); c.Store != "sqlite" {
			c.Vault = ""
		}
	}
	// Words that are added to a question draw its vector to what is about the user. To
	// an embedder of words they are words that no memory has.
	if c.Embedder == "lexical" && c.from["recall.expand"] == profileSource(c.Profile) {
		c.Recall.Expand = false
	}
	return nil
}

// scoreFitted is Loci's own recall.score, which needs no model.
const scoreFitted = "fitted"

// fittedThresholds let about as many of the facts that answer a message pass as the profile's
// threshold does on the score of its model, where that number itself is too far off
// (docs/profiles.md, "Thresholds").
var fittedThresholds = map[string]float64{"assistant": 0.04}

// scores reports whether the model is at hand on whose score the profile's threshold is: any
// reranker, and of embedders the one that the profile names, wherever it runs.
func (c *Config) scores(profile map[string]any) bool {
	if c.Recall.Score == "reranker" {
		return c.Reranker != "none"
	}
	name := func(model string) string {
		_, model, _ = strings.Cut(model, ":")
		return strings.ToLower(model[strings.LastIndex(model, "/")+1:])
	}
	named, _ := profile["embedder"].(string)
	return name(c.Embedder) == name(named)
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
