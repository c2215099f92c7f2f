package models

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// TestTryByHandIsKept, with the endpoint as it may be shown, and once for each model and endpoint.
func TestTryByHandIsKept(t *testing.T) {
	status, reply := http.StatusOK, `{"ops":[]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.HasSuffix(r.URL.Path, "/models") {
			_, _ = io.WriteString(w, `{"data":[{"id":"owl-1b"}]}`)
			return
		}
		if !strings.Contains(string(body), `"model":"owl-1b"`) {
			t.Errorf("asked %s", body)
		}
		words, _ := json.Marshal(reply)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":`+string(words)+`}}]}`)
	}))
	t.Cleanup(server.Close)
	c := load(t, map[string]string{"learn.url": server.URL + "/v1?key=hidden", "learn.model": "owl-1b"})
	file := filepath.Join(c.Data, "trials.json")

	status = http.StatusUnauthorized
	if _, err := Try(t.Context(), c, prompt.Default()); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a refused key: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a trial without a reply is kept")
	}
	status = http.StatusOK
	for range 2 {
		is, err := Try(t.Context(), c, prompt.Default())
		if !errors.Is(err, memory.Invalid) || is.Passed || is.Model != "owl-1b" || !strings.Contains(is.Why, "0 of 4") {
			t.Errorf("Try = %+v, %v", is, err)
		}
	}
	if kept, err := os.ReadFile(file); err != nil || strings.Count(string(kept), `"owl-1b at `+server.URL+`/v1"`) != 1 || strings.Contains(string(kept), "hidden") {
		t.Errorf("kept is %s, %v", kept, err)
	}
}
