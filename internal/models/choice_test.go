package models

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

// tiny has a model with random weights of each kind.
var tiny = filepath.Join("..", "model", "transformer", "testdata")

func load(t *testing.T, flags map[string]string) config.Config {
	t.Helper()
	flags["data"] = t.TempDir()
	c, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAutoTakesTheBestEncoderThatOpens ranks a model added by the user before well-known ones, and skips
// cross-encoders and broken models.
func TestAutoTakesTheBestEncoderThatOpens(t *testing.T) {
	for _, c := range []struct {
		name   string
		models map[string]string // test model by name
		want   string
		broken string
	}{
		{"nothing", nil, "lexical", ""},
		{"a cross-encoder alone", map[string]string{"ms-marco-MiniLM-L-6-v2": "cross"}, "lexical", ""},
		{"two well-known ones", map[string]string{"all-MiniLM-L6-v2": "mean", "bge-small-en-v1.5": "cls", "ms-marco-MiniLM-L-6-v2": "cross"}, "local:bge-small-en-v1.5", ""},
		{"a static one is the last", map[string]string{"potion-base-8M": "static", "all-MiniLM-L6-v2": "mean"}, "local:all-MiniLM-L6-v2", ""},
		{"somebody's own", map[string]string{"me/mine": "mean", "bge-small-en-v1.5": "cls"}, "local:me/mine", ""},
		{"the best is broken", map[string]string{"bge-small-en-v1.5": "", "all-MiniLM-L6-v2": "mean"}, "local:all-MiniLM-L6-v2", "bge-small-en-v1.5"},
		{"all are broken", map[string]string{"all-MiniLM-L6-v2": ""}, "lexical", "all-MiniLM-L6-v2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, of := range c.models {
				to := filepath.Join(dir, name)
				if of == "" {
					if err := os.MkdirAll(to, 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(to, "model.safetensors"), []byte("cut"), 0o600); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if err := os.CopyFS(to, os.DirFS(filepath.Join(tiny, of))); err != nil {
					t.Fatal(err)
				}
			}
			settled, choice := ChooseEmbedder(t.Context(), load(t, map[string]string{"models_dir": dir}))
			if settled.Embedder != c.want || choice.Embedder != c.want {
				t.Errorf("chose %s (%s), want %s", settled.Embedder, choice.Why, c.want)
			}
			if (choice.Suggestion != "") != (c.want == "lexical") {
				t.Errorf("suggested: %q", choice.Suggestion)
			}
			if (c.broken == "") != (len(choice.OpenErrors) == 0) || !strings.Contains(strings.Join(choice.OpenErrors, " "), c.broken) {
				t.Errorf("broken: %q", choice.OpenErrors)
			}
			opened, err := Open(settled, choice)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := opened.Embedder.Embed(t.Context(), memory.AsQuestion, "a text"); err != nil || len(v) != 1 {
				t.Errorf("it gives %d vectors, %v", len(v), err)
			}
		})
	}
}

// TestAutoTriesTheProfilesEmbedder expects one request to the upstream, and the lexical embedder if the upstream
// has no embeddings.
func TestAutoTriesTheProfilesEmbedder(t *testing.T) {
	for _, c := range []struct {
		profile string
		status  int
		asked   int
		want    string
		score   string
	}{
		{"openwebui", http.StatusOK, 1, "remote:mistral-embed", "cosine"},
		{"openwebui", http.StatusNotFound, 1, "lexical", "fitted"},
		{"openwebui", http.StatusNotImplemented, 1, "lexical", "fitted"},
		{"openwebui", http.StatusBadGateway, 1, "remote:mistral-embed", "cosine"}, // assumed to exist until the upstream answers
		{"assistant", http.StatusOK, 0, "lexical", "fitted"},                      // its embedder is local
		{"default", http.StatusOK, 0, "lexical", "fitted"},
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.WriteHeader(c.status)
			fmt.Fprint(w, `{"data":[{"index":0,"embedding":[0.6,0.8]}]}`)
		}))
		t.Cleanup(server.Close)
		settled, choice := ChooseEmbedder(t.Context(), load(t, map[string]string{"profile": c.profile, "upstream.url": server.URL + "/v1"}))
		if settled.Embedder != c.want || settled.Recall.Score != c.score || asked != c.asked {
			t.Errorf("%s, the upstream answers %d: %s by %s (%s), asked %d times; want %s by %s, asked %d times", c.profile, c.status,
				settled.Embedder, settled.Recall.Score, choice.Why, asked, c.want, c.score, c.asked)
		}
		lacks := len(settled.MissingModels()) > 0
		if want := c.want == "lexical" && c.profile != "default"; lacks != want {
			t.Errorf("%s: lacks %q", c.profile, settled.MissingModels())
		}
	}
}

func TestInUseListsSelectedModels(t *testing.T) {
	c := load(t, map[string]string{"models_dir": tiny, "reranker": "local:cross"})
	if names, err := LocalModelsInUse(c); err != nil || strings.Join(names, " ") != "cls cross" {
		t.Errorf("in use are %v, %v", names, err)
	}
}
