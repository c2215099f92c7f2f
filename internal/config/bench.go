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

// BenchConfig returns the settings of a separate memory for measurements, with the settings of c that
// affect results: models, recall, index, and learning by rules. The error is [memory.Invalid] if c
// names a server, because measurements use no server.
func (c Config) ForBench(settings map[string]string) (Config, error) {
	if c.rank("addr") == flagged || c.namesServer() {
		return Config{}, memory.Errorf(memory.Invalid, "addr: locibench measures a separate memory and uses no server; remove --addr")
	}
	flags := map[string]string{"addr": "127.0.0.1:0", "log.level": "error"}
	maps.Copy(flags, settings)
	out, err := Load(Sources{Flags: flags})
	if err != nil {
		return Config{}, err
	}
	if out.ModelsDir, err = c.ModelsFolder(); err != nil {
		return Config{}, err
	}
	out.Embedder, out.Reranker, out.Recall, out.Preset, out.Index = c.Embedder, c.Reranker, c.Recall, c.Preset, c.Index
	if !c.IsSet("recall.deadline") {
		out.Recall.Deadline = benchDeadline
	}
	out.from["recall.deadline"] = "bench"
	// resetScoreSettings compares the embedder with the embedder of the profile.
	out.Profile, out.named, out.lack = c.Profile, c.named, c.lack
	for _, key := range []string{"recall.score", "recall.threshold"} {
		out.from[key] = c.from[key]
	}
	out.Embed = c.Embed
	if out.Embed.URL == "" { // see embedOptions
		out.Embed.URL, out.Embed.Key = c.Upstream.URL, cmp.Or(c.Embed.Key, c.Upstream.Key)
	}
	if out.Learn.Model == "" { // facts are learned by rules
		out.Learn = c.Learn
		out.Learn.Model, out.Learn.URL, out.Learn.Key, out.Learn.Prefer = "", "", "", nil
	}
	return out, out.check()
}
