package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestProfilesSetWhatTheirDesignsSay holds docs/profiles.md's table.
func TestProfilesSetWhatTheirDesignsSay(t *testing.T) {
	rows := map[string][5]string{ // in the order of names
		"users":                 {"single", "single", "multi", "single", "single"},
		"learn.after":           {"exchange", "never", "user", "exchange", "exchange"},
		"learn.scope":           {"user", "user", "user", "conversation", "user"},
		"learn.every":           {"1", "4", "4", "1", "3"},
		"learn.model":           {"auto", "auto", "auto", "chat", "chat"},
		"learn.assistant":       {"true", "false", "false", "false", "true"},
		"learn.rules":           {"off", "on", "on", "on", "on"},
		"learn.prefer":          {"gemini-3-flash-preview, gpt-5-nano-2025-08-07, smallest", "gpt-4o-mini", "mistral-small-latest, mistral-small", "", ""},
		"summaries.mode":        {"off", "on", "off", "on", "off"},
		"summaries.every":       {"10", "10", "10", "1", "10"},
		"upkeep.conversation":   {"0", "0", "0", "500", "0"},
		"recall.score":          {"cosine", "cosine", "cosine", "reranker", "fitted"},
		"recall.threshold":      {"0.5", "0.45", "0.8", "0.35", "-1"},
		"recall.recency_weight": {"0", "0", "0", "0.2", "0.2"},
		"recall.top_k":          {"5", "8", "10", "5", "8"},
		"recall.placement":      {"system", "tail", "system", "user", "system"},
		"recall.blocks":         {"last", "last", "last", "last", "last"},
		"recall.core":           {"0", "0", "0", "0", "0"},
		"share.accept":          {"ask", "ask", "admins", "ask", "ask"},
		"log.format":            {"text", "text", "json", "text", "text"},
		"vault":                 {"", "", "", "~/.loci/memory", ""},
		"embedder":              {"local:bge-small-en-v1.5", "remote:text-embedding-3-small", "remote:mistral-embed", "remote:text-embedding-3-small", "local:all-MiniLM-L6-v2"},
		"reranker":              {"none", "none", "none", "local:ms-marco-MiniLM-L-6-v2", "none"},
	}
	presets := map[string]Preset{
		"assistant": {Turns: "none", Reach: "user", SmallSet: 5, Fallback: "empty", Messages: 1, Expand: true, EmbedAs: "document", Lambda: 1, Reply: "line", Exchanges: 1},
		"platform":  {Turns: "all", Questions: true, Reach: "conversation", Fallback: "none", Messages: 1, EmbedAs: "question", Lambda: 1, Reply: "ops", Context: 8, Exchanges: 1, KeepSummaries: true},
		"openwebui": {
			Turns: "none", Reach: "user", Bootstrap: 5, Fallback: "none", Messages: 1, EmbedAs: "question", Lambda: 1, Reply: "memories", Exchanges: 1, Named: true,
			Hint: "Re-rank these memories on the fly, and pass over those that are not relevant to the message.",
		},
		"agent-cli": {
			Turns: "all", Reach: "user", Fallback: "none", Messages: 1, EmbedAs: "question", Lambda: 0.7, Reply: "ops", Context: 8, Exchanges: 1, SinceSaid: true, Candidates: 3,
			Heading: "Long-term memory (most relevant first)", Roles: true, Summary: true,
		},
		"desktop": {Turns: "none", Reach: "user", Fallback: "none", Messages: 3, EmbedAs: "question", Lambda: 0.7, Reply: "ops", Context: 8, Exchanges: 2},
	}
	names := [5]string{"assistant", "platform", "openwebui", "agent-cli", "desktop"}
	if got := Profiles(); !slices.Equal(got, []string{"default", "agent-cli", "assistant", "coding", "desktop", "openwebui", "platform"}) {
		t.Fatalf("the profiles are %v", got)
	}
	for i, name := range names {
		models := t.TempDir() // where every model is at hand
		for _, model := range []string{"bge-small-en-v1.5", "all-MiniLM-L6-v2", "ms-marco-MiniLM-L-6-v2"} {
			if err := os.Mkdir(filepath.Join(models, model), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		c, err := Load(Sources{Flags: map[string]string{"profile": name, "models_dir": models, "embed.url": "http://localhost:1/v1"}})
		if err != nil {
			t.Fatal(err)
		}
		if c.Preset != presets[name] {
			t.Errorf("%s decides %+v, want %+v", name, c.Preset, presets[name])
		}
		if lacks := c.ProfileLacks(); len(lacks) > 0 {
			t.Errorf("%s lacks %v although everything is there", name, lacks)
		}
		for _, s := range c.Shown() {
			if row, ok := rows[s.Key]; ok && s.Value != row[i] {
				t.Errorf("%s sets %s to %q, want %q", name, s.Key, s.Value, row[i])
			} else if !ok && s.From == profileSource(name) {
				t.Errorf("%s sets %s, which this table does not know", name, s.Key)
			}
		}
	}
}

func TestAProfileStandsUnderTheFileAndOverTheDefaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "loci.yaml")
	if err := os.WriteFile(file, []byte("profile: assistant\nrecall:\n  top_k: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Sources{File: file, Env: []string{"LOCI_PROFILE=openwebui", "LOCI_RECALL_THRESHOLD=0.3"}, Flags: map[string]string{"recall.placement": "tail"}})
	if err != nil {
		t.Fatal(err)
	}
	from := map[string]string{}
	for _, s := range c.Shown() {
		from[s.Key] = s.Value + " from " + s.From
	}
	for key, want := range map[string]string{
		"profile": "openwebui from environment", "recall.top_k": "3 from file", "recall.threshold": "0.3 from environment", "recall.placement": "tail from flag",
		"users": "multi from profile openwebui", "recall.budget": "1500 from default", "embedder": "auto from profile openwebui",
	} {
		if from[key] != want {
			t.Errorf("%s is %s, want %s", key, from[key], want)
		}
	}
	if sets := strings.Join(c.ProfileSets(), " "); !strings.Contains(sets, "users=multi") || strings.Contains(sets, "top_k") {
		t.Errorf("the profile says that it sets %s", sets)
	}
	want := []string{
		"embedder remote:mistral-embed (name its server in embed.url): lexical stands in",
		"recall.score cosine (needs the profile's embedder): fitted stands in, and recall.threshold 0.3 is on its scale",
	}
	if wanted := c.Wanted(); wanted != "remote:mistral-embed" {
		t.Errorf("the profile's embedder that is not at hand is %q", wanted)
	}
	c = c.WithEmbedder(Lexical)
	if lacks := c.ProfileLacks(); !slices.Equal(lacks, want) {
		t.Errorf("the profile says that it lacks %q, want %q", lacks, want)
	}
}

func TestAnUnknownProfileStopsTheStart(t *testing.T) {
	for _, name := range []string{"nobody", "", "Assistant", "../assistant"} {
		_, err := Load(Sources{Flags: map[string]string{"profile": name}})
		if !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "agent-cli, assistant, coding, desktop, openwebui, platform") {
			t.Errorf("profile %q: %v, want an error that names the valid ones", name, err)
		}
	}
}

// A model that a person names has to be there; one that only the profile names not.
func TestAModelThatIsAskedForByNameIsNotReplaced(t *testing.T) {
	c, err := Load(Sources{Flags: map[string]string{"profile": "assistant", "embedder": "local:bge-small-en-v1.5", "data": t.TempDir()}})
	if err != nil || c.Embedder != "local:bge-small-en-v1.5" || len(c.ProfileLacks()) != 0 {
		t.Errorf("embedder %s, lacks %v, %v", c.Embedder, c.ProfileLacks(), err)
	}
}

// Another embedder than the profile's has other cosines, so that Loci's
// own threshold takes the place of the profile's; the same one has its own wherever it runs.
func TestProfileScoresByItsOwnModelAlone(t *testing.T) {
	for _, c := range []struct {
		profile, embedder, reranker, score string
		threshold                          float64
	}{
		{"assistant", "", "", "fitted", -1},
		{"assistant", "remote:BAAI/bge-small-en-v1.5", "", "cosine", 0.5},
		{"assistant", "remote:text-embedding-3-small", "", "fitted", -1},
		{"openwebui", "remote:mistral-embed", "", "cosine", 0.8},
		{"openwebui", "", "", "fitted", -1},
		{"platform", "", "", "fitted", -1},
		{"agent-cli", "", "", "fitted", -1},
		{"agent-cli", "", "remote:rerank-2", "reranker", 0.35},
	} {
		flags := map[string]string{"profile": c.profile, "data": t.TempDir()}
		for key, value := range map[string]string{"embedder": c.embedder, "reranker": c.reranker} {
			if value != "" {
				flags[key], flags["embed.url"] = value, "http://localhost:1/v1"
			}
		}
		got, err := Load(Sources{Flags: flags})
		if got.Embedder == AutoEmbedder {
			got = got.WithEmbedder(Lexical)
		}
		as := "question"
		if c.profile == "assistant" && c.score == "cosine" {
			as = "document"
		}
		if err != nil || got.Recall.Score != c.score || got.Recall.Threshold != c.threshold || got.Preset.EmbedAs != as {
			t.Errorf("%+v: score %s from %v, questions embedded as %s, %v", c, got.Recall.Score, got.Recall.Threshold, got.Preset.EmbedAs, err)
		}
	}
	if _, err := Load(Sources{Flags: map[string]string{"recall.score": "reranker"}}); !errors.Is(err, memory.Invalid) {
		t.Errorf("the score of a reranker that there is not: %v, want it refused", err)
	}
}
