package config

import (
	"reflect"
	"testing"
)

// TestABenchRecallsAsTheProfileDoes, whichever embedder is chosen for it.
func TestABenchRecallsAsTheProfileDoes(t *testing.T) {
	for _, profile := range ProfileNames() {
		c, err := Load(Sources{Flags: map[string]string{"profile": profile, "models_dir": t.TempDir(), "upstream.url": "http://localhost:1/v1"}})
		if err != nil {
			t.Fatal(err)
		}
		own, err := c.BenchConfig(nil)
		if err != nil {
			t.Fatal(err)
		}
		if own.Embedder != AutoEmbedder || own.MissingEmbedder() != c.MissingEmbedder() || own.Embed.URL != c.Upstream.URL {
			t.Errorf("%s: %s of %q at %s, want the best at hand or %q at %s", profile, own.Embedder, own.MissingEmbedder(), own.Embed.URL, c.MissingEmbedder(), c.Upstream.URL)
		}
		for _, embedder := range []string{Lexical, "local:all-MiniLM-L6-v2", c.profileEmbedder} {
			is, as := own.WithEmbedder(embedder), c.WithEmbedder(embedder)
			got, want := is.Recall, as.Recall
			got.Deadline = want.Deadline
			if !reflect.DeepEqual(got, want) || is.Preset != as.Preset {
				t.Errorf("%s with %q: %+v, want %+v", profile, embedder, got, want)
			}
		}
	}
}
