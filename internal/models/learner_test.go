package models

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

func TestLearnerIsAListedModel(t *testing.T) {
	const list = `{"data":[{"id":"nomic-embed-text:0.1b"},{"id":"llama3.2:3b"},{"id":"qwen2.5:0.5b-instruct"},{"id":"openai/gpt-5-nano-2025-08-07"},{"id":"mistral-small:latest"}]}`
	for name, c := range map[string]struct {
		answer string // "": the server is down
		model  string
		prefer []string
		want   string
	}{
		"without a list of its own":              {list, "anything", nil, "anything"},
		"the one that is set":                    {list, "llama3.2:3b", []string{"smallest"}, "llama3.2:3b"},
		"the first that is there":                {list, "", []string{"gpt-4o-mini", "mistral-small", "smallest"}, "mistral-small:latest"},
		"by its name without its provider":       {list, "", []string{"gpt-5-nano-2025-08-07"}, "openai/gpt-5-nano-2025-08-07"},
		"instead of one that is not there":       {list, "gpt-4o", []string{"smallest"}, "qwen2.5:0.5b-instruct"},
		"the smallest, which is not an embedder": {list, "", []string{"smallest"}, "qwen2.5:0.5b-instruct"},
		"the first while none is there":          {`{"data":[{"id":"o3"}]}`, "", []string{"gpt-4o-mini", "smallest"}, "gpt-4o-mini"},
		"the first while nobody answers":         {"", "", []string{"gpt-4o-mini", "smallest"}, "gpt-4o-mini"},
		"the kind of it while nobody answers":    {"", "", []string{"smallest"}, "smallest"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.answer == "" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			_, _ = w.Write([]byte(c.answer))
		}))
		got, err := ChooseLearner(context.Background(), config.Config{
			Upstream: config.UpstreamConfig{URL: s.URL + "/v1"}, Learn: config.LearnConfig{Model: c.model, Prefer: c.prefer},
		}, slog.New(slog.DiscardHandler))
		s.Close()
		if err != nil || got.model != c.want || got.unavailable != (c.answer == "" || name == "the first while none is there") {
			t.Errorf("%s: %+v, %v; want %q", name, got.choice, err, c.want)
		}
	}
	if got, err := ChooseLearner(context.Background(), config.Config{Learn: config.LearnConfig{Prefer: []string{"smallest"}}}, slog.New(slog.DiscardHandler)); got.model != "" || err != nil {
		t.Errorf("without a server: %+v, %v", got, err)
	}
}

func TestAutoTakesTheSmallestModelOfTheUpstream(t *testing.T) {
	listOf := func(ids ...string) string {
		var data []string
		for _, id := range ids {
			data = append(data, `{"id":"`+id+`"}`)
		}
		return `{"data":[` + strings.Join(data, ",") + `]}`
	}
	for name, c := range map[string]struct {
		status int
		list   string
		want   string
	}{
		"OpenAI":    {200, listOf("gpt-5.1", "gpt-4o-mini", "gpt-4o-mini-tts", "gpt-5-nano", "gpt-5-nano-2025-08-07", "gpt-4.1-nano", "text-embedding-3-small", "o3"), "gpt-5-nano"},
		"Anthropic": {200, listOf("claude-opus-4-5", "claude-haiku-4-5", "claude-3-haiku-20240307"), "claude-haiku-4-5"},
		"Google":    {200, listOf("models/gemini-2.5-pro", "models/gemini-2.5-flash", "models/gemini-2.0-flash-lite", "models/gemini-2.5-flash-lite", "models/gemini-2.5-flash-image"), "models/gemini-2.5-flash-lite"},
		"Ollama":    {200, listOf("all-minilm:latest", "llama3.2:3b", "mistral-small:24b"), "llama3.2:3b"},
		"one model": {200, listOf("my-model"), "my-model"},
		"large":     {200, listOf("big-one", "big-two"), config.LearnChat},
		"no list":   {404, `{}`, ""},
		"no key":    {401, `{}`, ""},
		"away":      {503, `{}`, config.LearnAuto},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.list))
		}))
		got, err := ChooseLearner(t.Context(), config.Config{Upstream: config.UpstreamConfig{URL: s.URL + "/v1"}, Learn: config.LearnConfig{Model: config.LearnAuto}}, slog.New(slog.DiscardHandler))
		s.Close()
		if err != nil || got.model != c.want || got.Why == "" {
			t.Errorf("%s: %+v, %v; want %q", name, got.choice, err, c.want)
		}
	}
}

// TestClientsKeyIsUsedOnlyIfSet has a distant upstream, and no key in the settings.
func TestClientsKeyIsUsedOnlyIfSet(t *testing.T) {
	c := config.Config{Upstream: config.UpstreamConfig{URL: "https://api.example.com/v1"}, Learn: config.LearnConfig{Model: config.LearnAuto}}
	got, err := ChooseLearner(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil || got.model != "" || !strings.Contains(got.Why, "learn.client_keys") {
		t.Errorf("without a key: %+v, %v; want the rules, and why", got, err)
	}
	c.Learn.Model, c.Learn.ClientKeys = config.LearnChat, true
	if got, err = ChooseLearner(t.Context(), c, slog.New(slog.DiscardHandler)); err != nil || got.model != config.LearnChat || !c.UsesClientKeys() {
		t.Errorf("with learn.client_keys: %+v, %v; want the chat's own model", got, err)
	}
	c.Upstream.Key = "k"
	if c.UsesClientKeys() {
		t.Error("with upstream.key a client's is used")
	}
}

// TestLearnerIsChosenWhenItsServerStarts starts before the model server, as services of one machine may.
func TestLearnerIsChosenWhenItsServerStarts(t *testing.T) {
	var up atomic.Bool
	var mu sync.Mutex
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/models") {
			_, _ = w.Write([]byte(`{"data":[{"id":"llama3.2:3b"},{"id":"qwen2.5:0.5b"}]}`))
			return
		}
		var body struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		mu.Lock()
		asked = append(asked, body.Model)
		mu.Unlock()
		_, _ = w.Write([]byte(`{"model":"` + body.Model + `","choices":[{"message":{"content":"NOTHING"}}]}`))
	}))
	defer s.Close()
	c := config.Config{Upstream: config.UpstreamConfig{URL: s.URL + "/v1"}, Learn: config.LearnConfig{Model: config.LearnAuto, Prefer: []string{"gpt-4o-mini", "smallest"}}}
	model, err := ChooseLearner(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	}()
	ask := func() error {
		_, err := model.Complete(t.Context(), memory.Prompt{Model: "gpt-4o-mini", User: "x"})
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := model.Complete(ctx, memory.Prompt{User: "x"}); err == nil {
		t.Error("while the server is away: got a reply, want an error")
	}
	up.Store(true)
	for range 2 {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"qwen2.5:0.5b", "qwen2.5:0.5b"}; !slices.Equal(asked, want) {
		t.Errorf("got %q asked, want %q", asked, want)
	}
}
