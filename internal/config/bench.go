package config

import (
	"cmp"
	"maps"
	"time"

	"github.com/loci-memory/loci/memory"
)

// benchDeadline is the default of recall.deadline in measurements of quality, so that a busy machine
// does not change the results.
const benchDeadline = 10 * time.Second

// BenchConfig returns settings for measurements in a separate memory: the overrides, and the values of c
// that affect results (models, recall, index, learning by rules). The error is [memory.Invalid] if c
// names a server, because measurements use no server.
func (c Config) BenchConfig(overrides map[string]string) (Config, error) {
	if c.sourceRank("addr") == flagRank || c.isServerURL() {
		return Config{}, memory.Errorf(memory.Invalid, "addr: locibench measures a separate memory and uses no server; remove --addr")
	}
	flags := map[string]string{"addr": "127.0.0.1:0", "log.level": "error"}
	maps.Copy(flags, overrides)
	bench, err := Load(Sources{Flags: flags})
	if err != nil {
		return Config{}, err
	}
	if bench.ModelsDir, err = c.ModelsFolder(); err != nil {
		return Config{}, err
	}
	bench.Embedder, bench.Reranker, bench.Recall, bench.Preset, bench.Index = c.Embedder, c.Reranker, c.Recall, c.Preset, c.Index
	if !c.IsSet("recall.deadline") {
		bench.Recall.Deadline = benchDeadline
	}
	bench.sources["recall.deadline"] = "bench"
	// resetScoreSettings needs these fields to compare the embedder with the profile's embedder.
	bench.Profile, bench.profileEmbedder, bench.embedderAdvice = c.Profile, c.profileEmbedder, c.embedderAdvice
	for _, key := range []string{"recall.score", "recall.threshold"} {
		bench.sources[key] = c.sources[key]
	}
	bench.Embed = c.Embed
	if bench.Embed.URL == "" { // embed.url defaults to upstream.url, which bench does not have
		bench.Embed.URL, bench.Embed.Key = c.Upstream.URL, cmp.Or(c.Embed.Key, c.Upstream.Key)
	}
	if bench.Learn.Model == "" { // without a learning model, facts are learned by rules
		bench.Learn = c.Learn
		bench.Learn.Model, bench.Learn.URL, bench.Learn.Key, bench.Learn.Prefer = "", "", "", nil
	}
	return bench, bench.check()
}
