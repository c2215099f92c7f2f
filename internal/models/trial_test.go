package models

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// TestManualTrialIsStored stores one trial per model and endpoint, without secrets of the URL.
func TestManualTrialIsStored(t *testing.T) {
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
	if _, err := TryLearner(t.Context(), c, prompt.Default()); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a refused key: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a trial without a reply is kept")
	}
	status = http.StatusOK
	for range 2 {
		is, err := TryLearner(t.Context(), c, prompt.Default())
		if !errors.Is(err, memory.Invalid) || is.Passed || is.Model != "owl-1b" || !strings.Contains(is.Explanation, "0 of 4") {
			t.Errorf("Try = %+v, %v", is, err)
		}
	}
	if kept, err := os.ReadFile(file); err != nil || strings.Count(string(kept), `"owl-1b at `+server.URL+`/v1"`) != 1 || strings.Contains(string(kept), "hidden") {
		t.Errorf("kept is %s, %v", kept, err)
	}
}

func TestOutdatedTrialsDoNotCount(t *testing.T) {
	flags := map[string]string{"learn.url": "http://127.0.0.1:9/v1", "learn.model": "owl-1b"}
	c := load(t, flags)
	c.Learn.Trust = "tried"
	file := filepath.Join(c.Data, "trials.json")
	learner := func(c config.Config) *Learner {
		l, err := ChooseLearner(t.Context(), c, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := learner(c)
	l.StoreTrial(learn.TrialResult{Model: "owl-1b", Explanation: "it slept"})
	if says := learner(c).Status().DistrustReason; !strings.Contains(says, "it slept") {
		t.Errorf("after a restart it says %q", says)
	}
	elsewhere := c
	elsewhere.Learn.URL = "http://127.0.0.1:10/v1"
	if _, ok := learner(elsewhere).Trial("owl-1b"); ok {
		t.Error("the trial counts for the same name elsewhere")
	}
	if _, ok := l.Trial("owl-2b"); ok {
		t.Error("the trial counts for another model")
	}
	byHand := learner(c)
	byHand.StoreTrial(learn.TrialResult{Model: "owl-1b", Passed: true, Explanation: "it woke"})
	if is, ok := l.Trial("owl-1b"); !ok || !is.Passed || l.Status().DistrustReason != "" {
		t.Errorf("a trial of another process: %+v", is)
	}
	for _, broken := range []string{`{"owl-1b at`, `null`, `[]`} {
		if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok := learner(c).Trial("owl-1b"); ok {
			t.Errorf("%s counts", broken)
		}
		byHand.StoreTrial(learn.TrialResult{Model: "owl-1b", Passed: true, Explanation: "it woke"})
	}
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	month := time.Now().Add(-31 * 24 * time.Hour).Format("2006-01-02")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(old), time.Now().UTC().Format("2006-01-02"), month)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := learner(c).Trial("owl-1b"); ok {
		t.Error("a trial counts after a month")
	}
}
