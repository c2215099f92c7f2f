package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/bench/eval"
	"github.com/loci-memory/loci/memory"
)

const ownTalk = `{"type":"turn","conversation":"a","session":"1","id":"1","name":"Mira","content":"I started rowing on the lake.","at":"2024-03-03T07:05:00Z"}
{"type":"turn","conversation":"a","session":"1","id":"2","name":"Tomas","content":"The bakery was closed.","at":"2024-03-03T07:06:00Z"}
{"type":"turn","conversation":"a","session":"2","id":"3","name":"Mira","content":"My violin needs strings.","at":"2024-04-03T07:05:00Z"}
{"type":"question","conversation":"a","id":"q1","question":"Where does Mira row?","gold":["1"]}
{"type":"question","conversation":"a","id":"q2","question":"What does the violin of Mira need?","gold":["3"]}
{"type":"turn","conversation":"b","id":"1","name":"Bela","content":"I sold my motorcycle."}
{"type":"question","conversation":"b","id":"q1","question":"Which motorcycle did Bela sell?","gold":["1"]}
{"type":"question","conversation":"b","id":"q3","question":"Who repaired the telescope?","unanswerable":true}
`

// retrievalOf runs the command on ownTalk.
func retrievalOf(t *testing.T, args ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	if err := os.WriteFile(file, []byte(ownTalk), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append(append([]string{"retrieval", "--set", "jsonl"}, args...), file))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestOwnTalkIsMeasuredOverHTTPAndWithout(t *testing.T) {
	for _, args := range [][]string{{}, {"--direct"}, {"--pooled"}, {"--pooled", "--direct"}} {
		out, err := retrievalOf(t, append(args, "--json")...)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]eval.Figure{}
		for line := range strings.Lines(out) {
			var f eval.Figure
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			found[string(f.Level)+" "+f.Metric+" "+f.Category] = f
		}
		for _, name := range []string{"turn fraction@10 ", "session any@5 ", "turn mrr@20 "} {
			f := found[name]
			if f.Value != 1 || f.N != 3 || f.Set != "jsonl" || f.Version == "" || f.Pooled != (len(args) > 0 && args[0] == "--pooled") {
				t.Errorf("%v: %sis %+v, want 1 of 3 questions", args, name, f)
			}
		}
		if f := found[" abstention auc "+eval.UnanswerableHere]; f.Value != 1 || f.N != 4 {
			t.Errorf("%v: abstention is %+v, want 1 of 4 questions", args, f)
		}
	}
}

func TestARunIsComparedWithAnEarlierOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "before.jsonl")
	if _, err := retrievalOf(t, "--direct", "--questions", file); err != nil {
		t.Fatal(err)
	}
	out, err := retrievalOf(t, "--direct", "--pooled", "--compare", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"jsonl: 2 conversations, all one owner's; 3 questions", "less the run of " + file, "3 questions, 0 better, 0 worse"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestRetrievalSaysWhatIsWrongBeforeItMeasures(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.jsonl")
	if err := os.WriteFile(other, []byte("no run\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--compare", other}, {"--set", "squad"}, {"--limit", "-1"}, {"--workers", "-1"}} {
		if _, err := retrievalOf(t, args...); !errors.Is(err, memory.Invalid) {
			t.Errorf("%v is answered by %v", args, err)
		}
	}
	if _, err := retrievalOf(t, "--compare", other+".gone"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing run is answered by %v", err)
	}
}

func TestAnEmbedderIsFitted(t *testing.T) {
	out, err := retrievalOf(t, "--fit")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"jsonl, embedder lexical", "weight of vectors", "in use", "chosen by other conversations", "worth"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	for _, args := range [][]string{{"--fit", "--json"}, {"--fit", "--pooled"}, {"--fit", "--limit", "1"}} {
		if _, err := retrievalOf(t, args...); !errors.Is(err, memory.Invalid) {
			t.Errorf("%v: %v, want it refused", args, err)
		}
	}
}

const tinyModels = "../internal/model/transformer/testdata"

func TestRetrievalMeasuresTheModelsThatAreSet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "loci.yaml")
	if err := os.WriteFile(file, []byte("embedder: local:mean\nmodels_dir: "+tinyModels+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := map[string][]string{
		"flag":        {"--set", "embedder=local:mean", "--set", "models_dir=" + tinyModels},
		"environment": nil,
		"file":        {"--config", file},
	}
	for from, flags := range settings {
		if from == "environment" {
			t.Setenv("LOCI_EMBEDDER", "local:mean")
			t.Setenv("LOCI_MODELS_DIR", tinyModels)
		}
		for _, way := range []string{"", "--direct", "--fit"} {
			args := slices.DeleteFunc(append(slices.Clone(flags), way), func(a string) bool { return a == "" })
			out, err := retrievalOf(t, args...)
			if err != nil || !strings.Contains(out, "embedder local:mean") || !strings.Contains(out, "reranker none") {
				t.Errorf("%s, %v: %v, want the embedder named\n%s", from, args, err, out)
			}
		}
		if from == "environment" {
			_, _ = os.Unsetenv("LOCI_EMBEDDER"), os.Unsetenv("LOCI_MODELS_DIR")
		}
	}
	words, err := retrievalOf(t, "--json")
	if err != nil {
		t.Fatal(err)
	}
	dense, err := retrievalOf(t, append([]string{"--json"}, settings["flag"]...)...)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(words, `"embedder":"lexical"`) || !strings.Contains(dense, `"embedder":"local:mean"`) {
		t.Errorf("the rows do not name the embedder:\n%.300s\n%.300s", words, dense)
	}
	reranked, err := retrievalOf(t, "--set", "embedder=lexical", "--set", "reranker=local:cross", "--set", "models_dir="+tinyModels)
	if err != nil || !strings.Contains(reranked, "embedder lexical, reranker local:cross") {
		t.Errorf("with a reranker: %v\n%s", err, reranked)
	}
}

func TestBenchRefusesWhatItCannotHonour(t *testing.T) {
	for want, args := range map[string][]string{
		"addr: locibench":          {"--set", "addr=127.0.0.1:7077"},
		"there is no model":        {"--set", "embedder=local:nowhere"},
		"ranks without a reranker": {"--direct", "--set", "reranker=local:cross", "--set", "models_dir=" + tinyModels},
	} {
		if out, err := retrievalOf(t, args...); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q\n%s", args, err, want, out)
		}
	}
}
