package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/loci-memory/loci/bench/eval"
	"github.com/loci-memory/loci/memory"
)

const ownLesson = `{"id":"mira","turns":[{"content":"I live in Oslo."},{"role":"assistant","content":"Nice."},{"content":"I moved to Bergen."}],"gold":[{"text":"User lives in Oslo"},{"text":"User lives in Bergen","replaces":0},{"text":"User plays the cello"}]}
`

// learnOf runs the command on ownLesson.
func learnOf(t *testing.T, args ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lessons.jsonl")
	if err := os.WriteFile(file, []byte(ownLesson), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"learn"}, append(args, file)...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestLearningIsPrintedForProgramsAndPeople(t *testing.T) {
	out, err := learnOf(t, "--json")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]eval.LearnFigure{}
	for line := range strings.Lines(out) {
		var f eval.LearnFigure
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		found[f.Metric] = f
	}
	for metric, want := range map[string]float64{"superseded": 1, "recall": 0.5, "precision": 1} {
		if f := found[metric]; f.Value != want || f.By != "rules" || f.Version == "" {
			t.Errorf("%s is %+v, want %v", metric, f, want)
		}
	}
	out, err = learnOf(t, "--show")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"learned by rules: 1 lessons, 2 turns", "superseded", "missed: User plays the cello"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestModelIsMeasuredInAShortTable has a model that reads where the user lives, and the move.
func TestModelIsMeasuredInAShortTable(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		ops := `{\"ops\":[{\"op\":\"add\",\"ids\":[],\"text\":\"User lives in Oslo\",\"quote\":\"I live in Oslo\",\"about\":\"user\",\"lasting\":true}]}`
		if strings.Contains(string(body), "I moved to Bergen") {
			ops = `{\"ops\":[{\"op\":\"replace\",\"ids\":[\"k1\"],\"text\":\"User lives in Bergen\",\"quote\":\"I moved to Bergen\",\"about\":\"user\",\"lasting\":true}]}`
		}
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":"%s"},"finish_reason":"stop"}],"usage":{"prompt_tokens":500,"completion_tokens":20}}`, ops)
	}))
	t.Cleanup(upstream.Close)
	out, err := learnOf(t, "--url", upstream.URL+"/v1", "--model", "m")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`true facts that are active +0\.500`, `corrections: the newer active, the older ended +1\.000`, `right and current +1\.000`, `tokens and calls for an exchange +520, 1\.00`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "precision by chance") {
		t.Errorf("the table of the rules in\n%s", out)
	}
}

func TestWrongUseOfBenchLearnIsNamed(t *testing.T) {
	for want, args := range map[string][]string{
		"--url and --model":             {"--model", "m"},
		"--limit":                       {"--limit", "-1"},
		"--input-price":                 {"--input-price", "-1"},
		"--json prints":                 {"--json", "--show"},
		`"x" is not a data set`:         {"--set", "x"},
		`"nonsense" is not a valid URL`: {"--url", "nonsense", "--model", "m"},
		"looks like http://localh":      {"--url", "ftp://x", "--model", "m"},
	} {
		if _, err := learnOf(t, args...); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", args, err, want)
		}
	}
}
