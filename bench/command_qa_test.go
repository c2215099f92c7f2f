package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci/bench/eval"
	"github.com/loci-memory/loci/memory"
)

// qaOf runs the command on ownTalk, each of whose questions has an answer.
func qaOf(t *testing.T, args ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(ownTalk, `"gold"`, `"answer":"the right one","gold"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append(append([]string{"qa", "--set", "jsonl"}, args...), file))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestEvidenceIsMeasuredWithoutAModel(t *testing.T) {
	out, err := qaOf(t, "--set", "embedder=local:mean", "--set", "models_dir="+tinyModels)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no model was asked", "250 tokens", "5000 tokens", "\nloci ", "\nbm25 ", "\ncosine ", "plain cosine by local:mean"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out, err = qaOf(t, "--json", "--system", "loci,bm25", "--budget", "12,700,12")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for line := range strings.Lines(out) {
		var f eval.QAFigure
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if f.N != 3 || f.Embedder != "lexical" || f.Version == "" {
			t.Errorf("figure %+v", f)
		}
		values[fmt.Sprint(f.System, f.Budget)] = f.Value
	}
	if len(values) != 4 || values["loci700"] != 1 || values["loci12"] >= values["loci700"] {
		t.Errorf("evidence: %v", values)
	}
}

// moody is a model server that limits, hangs up and never answers before it behaves.
func moody(t *testing.T) (url string, calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Model string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Errorf("read a request: %v", err)
		}
		switch calls.Add(1) {
		case 1, 2:
			w.Header().Set("Retry-After-Ms", "1")
			http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
			return
		case 3:
			panic(http.ErrAbortHandler) // the connection is cut
		case 4:
			<-r.Context().Done() // until the client has waited long enough
			return
		}
		text := "the right one"
		switch {
		case asked.Model == "judge":
			text = `{"correct": true, "refused": false}`
		case r.Header.Get("Authorization") != "Bearer sk-qa":
			http.Error(w, `{"error":{"message":"who are you"}}`, http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": text}}},
			"usage":   map[string]any{"prompt_tokens": 100, "completion_tokens": 10},
		})
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", calls
}

func TestModelsAnswerAndJudge(t *testing.T) {
	t.Setenv("LOCI_QA_KEY", "sk-qa")
	url, calls := moody(t)
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	args := []string{
		"--answer-model", "reader", "--judge-model", "judge", "--url", url, "--out", rows, "--budget", "700",
		"--input-price", "10", "--output-price", "100", "--workers", "1", "--timeout", "500ms",
	}
	out, err := qaOf(t, append(args, "--dry-run")...)
	if err != nil || !strings.Contains(out, "4 questions to ask, 0 are answered already: about 8 calls") || calls.Load() != 0 {
		t.Errorf("dry run: %v, %d calls\n%s", err, calls.Load(), out)
	}
	if _, err := os.Stat(rows); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dry run makes a file: %v", err)
	}
	if out, err = qaOf(t, args...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"answered by reader, judged by judge", "accuracy", "1.000 [1.000, 1.000]", "unanswerable refused", "0.000 [0.000, 0.000]", "cost 0.0160"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if n := calls.Load(); n != 12 {
		t.Errorf("%d calls, want four that came to nothing and two for each of four questions", n)
	}
	data, err := os.ReadFile(rows)
	if err != nil || bytes.Count(data, []byte("\n")) != 4 || bytes.Contains(data, []byte("sk-qa")) {
		t.Errorf("rows: %v\n%s", err, data)
	}
	again, err := qaOf(t, append(args, "--json")...)
	if err != nil || calls.Load() != 12 || !strings.Contains(again, "0 questions to ask, 4 are answered") || !strings.Contains(again, `"metric":"accuracy"`) {
		t.Errorf("again: %v, %d calls\n%s", err, calls.Load(), again)
	}
}

// TestEvidenceIsComparedWithAnEarlierRun question by question, of systems and budgets that both have.
func TestEvidenceIsComparedWithAnEarlierRun(t *testing.T) {
	rows := filepath.Join(t.TempDir(), "before.jsonl")
	for range 2 { // the last row of a question counts
		if out, err := qaOf(t, "--system", "loci,bm25", "--budget", "12,700", "--out", rows); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	out, err := qaOf(t, "--system", "loci", "--budget", "700", "--compare", rows)
	if err != nil {
		t.Fatal(err)
	}
	want := "less the run of " + rows + "\nloci       700 tokens  evidence             +0.000 [+0.000, +0.000]  3 questions, 0 better, 0 worse\n"
	if !strings.HasSuffix(out, want) {
		t.Errorf("no %q at the end of\n%s", want, out)
	}
	out, err = qaOf(t, "--system", "loci", "--budget", "12", "--json", "--compare", rows)
	if err != nil || strings.Count(out, `"versus":"`+rows) != 1 {
		t.Errorf("%v, want a row of the difference in\n%s", err, out)
	}
	if out, err = qaOf(t, "--budget", "13", "--compare", rows); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "none of these questions") {
		t.Errorf("a budget that the earlier run had not: %v\n%s", err, out)
	}
}

// TestKeyIsForOneServer has a judge elsewhere, which must not be sent the key of the first.
func TestKeyIsForOneServer(t *testing.T) {
	url, calls := moody(t)
	calls.Store(4)
	keys := make(chan string, 100)
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Authorization")
		fmt.Fprint(w, `{"choices":[{"message":{"content":"{\"correct\":true,\"refused\":false}"}}]}`)
	}))
	t.Cleanup(judge.Close)
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	if out, err := qaOf(t, "--answer-model", "reader", "--url", url, "--key", "sk-qa", "--judge-url", judge.URL, "--out", rows, "--budget", "700"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	close(keys)
	for key := range keys {
		if key != "" {
			t.Errorf("the judge was sent %q", key)
		}
	}
}

func TestWrongUseOfBenchQAIsNamed(t *testing.T) {
	for want, args := range map[string][]string{
		"--out: name a file": {"--answer-model", "m", "--url", "http://localhost:1/v1"},
		"--url: name the":    {"--answer-model", "m", "--dry-run"},
		"base URL must look": {"--answer-model", "m", "--dry-run", "--url", "nonsense"},
		"go with --answer":   {"--dry-run"},
		"--budget":           {"--budget", "0"},
		"--system":           {"--system", "mem0"},
		"--input-price":      {"--input-price", "-1"},
		"has no rows":        {"--compare", "/no/such/rows.jsonl"},
		"--limit":            {"--limit", "-1"},
		"only locomo":        {"--held-back"},
		"no plain cosine":    {"--system", "cosine", "--set", "models_dir=/no/such/folder"},
	} {
		if out, err := qaOf(t, args...); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q\n%s", args, err, want, out)
		}
	}
}
