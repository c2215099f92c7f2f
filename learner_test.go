package loci

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
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
		"the rules while nobody answers that": {"", "", []string{"smallest"}, ""},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.answer == "" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			_, _ = w.Write([]byte(c.answer))
		}))
		got, err := chooseLearner(context.Background(), Config{
			Upstream: UpstreamConfig{URL: s.URL + "/v1"}, Learn: LearnConfig{Model: c.model, Prefer: c.prefer},
		})
		s.Close()
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	if got, err := chooseLearner(context.Background(), Config{Learn: LearnConfig{Prefer: []string{"smallest"}}}); got != "" || err != nil {
		t.Errorf("without a server: %q, %v", got, err)
	}
}
