package loci

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

func TestTheModelThatLearnsIsOneThatItsServerLists(t *testing.T) {
	const list = `{"data":[{"id":"nomic-embed-text:0.1b"},{"id":"llama3.2:3b"},{"id":"qwen2.5:0.5b-instruct"},{"id":"openai/gpt-5-nano-2025-08-07"},{"id":"mistral-small:latest"}]}`
	for name, c := range map[string]struct {
		answer string // "": the server is not there
		model  string
		prefer []string
		want   string
	}{
		"without a list of its own":           {list, "anything", nil, "anything"},
		"the one that is set":                 {list, "llama3.2:3b", []string{"smallest"}, "llama3.2:3b"},
		"the first that is there":             {list, "", []string{"gpt-4o-mini", "mistral-small", "smallest"}, "mistral-small:latest"},
		"by its name without its provider":    {list, "", []string{"gpt-5-nano-2025-08-07"}, "openai/gpt-5-nano-2025-08-07"},
		"instead of one that is not there":    {list, "gpt-4o", []string{"smallest"}, "qwen2.5:0.5b-instruct"},
		"the smallest, which is no embedder":  {list, "", []string{"smallest"}, "qwen2.5:0.5b-instruct"},
		"the rules where none is there":       {`{"data":[{"id":"o3"}]}`, "", []string{"gpt-4o-mini", "smallest"}, ""},
		"the first while nobody answers":      {"", "", []string{"gpt-4o-mini", "smallest"}, "gpt-4o-mini"},
		"the kind of it while nobody answers": {"", "", []string{"smallest"}, "smallest"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.answer == "" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			_, _ = w.Write([]byte(c.answer))
		}))
		got, later, err := chooseLearner(context.Background(), Config{
			Upstream: UpstreamConfig{URL: s.URL + "/v1"}, Learn: LearnConfig{Model: c.model, Prefer: c.prefer},
		})
		s.Close()
		if err != nil || got != c.want || later != (c.answer == "") {
			t.Errorf("%s: %q, later %t, %v; want %q", name, got, later, err, c.want)
		}
	}
	if got, _, err := chooseLearner(context.Background(), Config{Learn: LearnConfig{Prefer: []string{"smallest"}}}); got != "" || err != nil {
		t.Errorf("without a server: %q, %v", got, err)
	}
}

// TestTheModelThatLearnsIsFoundWhenItsServerComesUp starts before the server of the
// models does, as two services of one machine do.
func TestTheModelThatLearnsIsFoundWhenItsServerComesUp(t *testing.T) {
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
	l := openWith(t, map[string]string{"upstream.url": s.URL + "/v1", "learn.prefer": "gpt-4o-mini,smallest"})
	ask := func() error {
		_, err := l.engine.LLM.Complete(t.Context(), memory.Prompt{Model: "gpt-4o-mini", User: "x"})
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := l.engine.LLM.Complete(ctx, memory.Prompt{User: "x"}); err == nil {
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
