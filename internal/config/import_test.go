package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSettingsOfOtherDesignsAreImported from their files, into settings that start.
func TestSettingsOfOtherDesignsAreImported(t *testing.T) {
	for _, c := range []struct {
		file, text string
		want       map[string]string
		passed     []string
	}{
		{
			".env", "# design 1\nexport RAG_EMBEDDING_MODEL=\"BAAI/bge-small-en-v1.5\"\nRAG_SIMILARITY_THRESHOLD=0.6 # of cosine\nCHROMA_DIR=data/chroma\nFLASK_ENV='dev'\n",
			map[string]string{"profile": "assistant", "embedder": "local:bge-small-en-v1.5", "recall.score": "cosine", "recall.threshold": "0.6"}, []string{"chroma_dir", "flask_env"},
		},
		{
			"models.yaml", "memory_extractor: google/gemini-3-flash-preview\nproviders:\n  google: {base_url: https://one.example.com/v1, api_key: g}\n  openai:\n    url: https://two.example.com/v1\n    models: [gpt-5]\n",
			map[string]string{
				"profile": "assistant", "learn.prefer": "google/gemini-3-flash-preview,smallest",
				"learn.providers": "google=https://g@one.example.com/v1,openai=https://two.example.com/v1",
			}, nil,
		},
		{
			"config.toml", "[memory.proxy]\nmemory-path = \"/srv/memory\"\ndefault_top_k = 7\nmax_entries = 200\nmmr_lambda = 0.6\nrecency_weight = 0.3\nscore_threshold = 0.4\nenable_summarization = false\n",
			map[string]string{
				"profile": "agent-cli", "vault": "/srv/memory", "recall.top_k": "7", "upkeep.conversation": "200", "recall.recency_weight": "0.3", "recall.threshold": "0.4", "summaries.mode": "off",
			}, []string{"mmr_lambda"},
		},
		{
			"config.json", `{"memory": {"default_top_k": 3, "score_threshold": 0.2}}`,
			map[string]string{"profile": "agent-cli", "recall.top_k": "3", "recall.threshold": "0.2"}, nil,
		},
		{
			"app.env", "USE_LLM_INTENT=true\nSUMMARY_INTERVAL=5\nOPENAI_API_KEY=k",
			map[string]string{"profile": "platform", "query.intents": "embedding", "summaries.every": "5", "upstream.url": "https://api.openai.com/v1", "upstream.key": "k", "embed.url": "https://api.openai.com/v1", "embed.key": "k"}, nil,
		},
	} {
		got, err := Import(c.file, []byte(c.text))
		if err != nil || !maps.Equal(got.Settings, c.want) || !slices.Equal(got.Skipped, c.passed) {
			t.Errorf("%s: %v, passed %v, %v; want %v and %v", c.file, got.Settings, got.Skipped, err, c.want, c.passed)
			continue
		}
		out, err := got.YAML()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "loci.yaml")
		if err := os.WriteFile(file, out, 0o600); err != nil {
			t.Fatal(err)
		}
		config, err := Load(Sources{File: file})
		if err != nil || config.Profile != c.want["profile"] || config.Profile == "platform" && config.Embedder != "remote:text-embedding-3-small" {
			t.Errorf("%s: its settings do not load: %v\n%s", c.file, err, out)
		}
	}
	for file, text := range map[string]string{"a.env": "EDITOR=vi", "b.env": "RAG_SIMILARITY_THRESHOLD=much", "c.env": "MAX_ENTRIES=-5", "d.yaml": "a: [", "e.env": "ENABLE_SUMMARIZATION=perhaps"} {
		if got, err := Import(file, []byte(text)); err == nil {
			t.Errorf("%s: %q is imported as %v", file, text, got.Settings)
		}
	}
}

// TestDocNamesEveryForeignSetting keeps docs/profiles.md whole.
func TestDocNamesEveryForeignSetting(t *testing.T) {
	page, err := os.ReadFile("../../docs/profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range foreignSettings {
		key := "`" + f.key + "`"
		if f.key == "" {
			key = "none"
		}
		line := slices.IndexFunc(strings.Split(string(page), "\n"), func(line string) bool {
			return strings.HasPrefix(line, "| "+f.profile+" |") && strings.Contains(strings.ToLower(line), "`"+f.name+"`") && strings.Contains(line, key)
		})
		if line < 0 {
			t.Errorf("docs/profiles.md does not say that %s of %s is %s", f.name, f.profile, key)
		}
	}
}
