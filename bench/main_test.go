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
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci/internal/cli"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
)

// TestMain lets the test binary act as the program that a load run starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(cli.Main())
	}
	os.Exit(pgtest.Main(m))
}

// bench runs a command.
func bench(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := command()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// lines runs a command with --json, and returns the lines by part, name and metric.
func lines(t *testing.T, args ...string) map[string]map[string]any {
	t.Helper()
	out, err := bench(t, append(args, "--json")...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	found := map[string]map[string]any{}
	for line := range strings.Lines(out) {
		if line[0] != '{' {
			continue // a text for people on standard error
		}
		row := map[string]any{}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v: %q: %v", args, line, err)
		}
		found[fmt.Sprintf("%s: %s: %s", row["part"], row["name"], row["metric"])] = row
	}
	return found
}

// file writes a file.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const ownTalk = `{"id":"a","turns":[
 {"session":"1","id":"1","name":"Mira","content":"I started rowing on the lake.","at":"2024-03-03T07:05:00Z"},
 {"session":"1","id":"2","name":"Tomas","content":"The bakery was closed.","at":"2024-03-03T07:06:00Z"},
 {"session":"2","id":"3","name":"Mira","content":"My violin needs strings.","at":"2024-04-03T07:05:00Z"}],
 "questions":[{"id":"q1","question":"Where does Mira row?","gold":["1"],"answer":"On the lake."},
 {"id":"q2","question":"What does the violin of Mira need?","gold":["3"],"answer":"Strings."}]}
{"id":"b","turns":[{"id":"1","name":"Bela","content":"I sold my motorcycle."}],
 "questions":[{"id":"q1","question":"Which motorcycle did Bela sell?","gold":["1"],"answer":"His own."},
 {"id":"q3","question":"Who repaired the telescope?","unanswerable":true}]}
`

const tinyModels = "../internal/model/transformer/testdata"

func TestRetrievalIsMeasuredForPeopleAndPrograms(t *testing.T) {
	talk := file(t, "talk.jsonl", ownTalk)
	for _, pooled := range []bool{false, true} {
		found := lines(t, "retrieval", "--set", "jsonl", fmt.Sprintf("--pooled=%v", pooled), talk)
		for _, name := range []string{"turns: all: recall@10", "sessions: all: mrr@20"} {
			if f := found[name]; f["value"] != 1.0 || f["n"] != 3.0 || f["set"] != "jsonl" || f["version"] == "" || f["pooled"] != pooled || f["embedder"] != "lexical" {
				t.Errorf("pooled %v: %s is %v, want 1 of 3 questions", pooled, name, f)
			}
		}
		if f := found["refusing questions: unanswerable in the data set: AUC"]; f["value"] != 1.0 || f["n"] != 1.0 {
			t.Errorf("pooled %v: refusing is %v", pooled, f)
		}
	}
	out, err := bench(t, "retrieval", "--set", "jsonl", talk)
	for _, want := range []string{"2 conversations", "1.000 [1.000, 1.000]", "put to another conversation"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: no %q in\n%s", err, want, out)
		}
	}
}

func TestWeightsAreFitted(t *testing.T) {
	out, err := bench(t, "retrieval", "--set", "jsonl", "--fit", file(t, "talk.jsonl", ownTalk))
	for _, want := range []string{"embedder lexical", "in use, vector 1.5", "in use, without vector", "fitted to the other conversations", "they choose ["} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: no %q in\n%s", err, want, out)
		}
	}
}

func TestModelsThatAreSetAreMeasured(t *testing.T) {
	talk, settings := file(t, "talk.jsonl", ownTalk), file(t, "loci.yaml", "embedder: local:mean\n")
	t.Setenv("LOCI_MODELS_DIR", tinyModels)
	for _, args := range [][]string{{"retrieval"}, {"retrieval", "--fit"}, {"qa"}} {
		out, err := bench(t, append(args, "--config", settings, "--set", "jsonl", talk)...)
		if err != nil || !strings.Contains(out, "embedder local:mean, reranker none") {
			t.Errorf("%v: %v, want the embedder named\n%s", args, err, out)
		}
	}
}

const ownChat = `{"id":"ida","chats":[{"at":"2025-03-03T07:05:00Z","exchanges":[
 {"id":"e1","user":"My sister Ragna keeps goats in Voss.","assistant":"How many goats?"}]}],"facts":[],
 "needed":[{"id":"n1","message":"Where does my sister Ragna keep her goats?","answers":["Voss"],"gold":["e1"]},
  {"id":"n2","message":"Wohin fahre ich?","answers":["Voss"],"gold":["e1"]}],
 "unrelated":[{"id":"u1","kind":"arithmetic","message":"12 * 7"}],"surroundings":[]}`

func TestChatsAreMeasuredForPeopleAndPrograms(t *testing.T) {
	dir := filepath.Dir(file(t, "ida.json", ownChat))
	if out, err := bench(t, "chat", "--set", dir, "--show"); err != nil || !strings.Contains(out, "missed: ida n2") || strings.Contains(out, "missed: ida n1") {
		t.Errorf("shown: %v\n%s", err, out)
	}
	if f := lines(t, "chat", "--set", dir)[": answer in the prompt, bare: loci"]; f["value"] != 1.0 || f["n"] != 2.0 || f["facts"] != "rules" {
		t.Errorf("got %v, want one answer of two", f)
	}
}

const ownLesson = `{"id":"mira","turns":[{"content":"I live in Oslo."},{"role":"assistant","content":"Nice."},{"content":"I moved to Bergen."}],` +
	`"gold":[{"text":"User lives in Oslo"},{"text":"User lives in Bergen","replaces":0},{"text":"User plays the cello"}]}` + "\n"

func TestLearningIsMeasuredForPeopleAndPrograms(t *testing.T) {
	lesson := file(t, "lessons.jsonl", ownLesson)
	found := lines(t, "learn", lesson)
	for metric, want := range map[string]float64{"superseded": 1, "recall": 0.5, "precision": 1} {
		if f := found["learned by rules: "+metric+": value"]; f["value"] != want || f["version"] == "" {
			t.Errorf("%s is %v, want %v", metric, f, want)
		}
	}
	if out, err := bench(t, "learn", "--show", lesson); err != nil || !strings.Contains(out, "missed: User plays the cello") {
		t.Errorf("%v, want what was missed\n%s", err, out)
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		ops := `{\"ops\":[{\"op\":\"add\",\"ids\":[],\"text\":\"User lives in Oslo\",\"quote\":\"I live in Oslo\",\"about\":\"user\",\"lasting\":true}]}`
		if strings.Contains(string(body), "I moved to Bergen") {
			ops = `{\"ops\":[{\"op\":\"replace\",\"ids\":[\"k1\"],\"text\":\"User lives in Bergen\",\"quote\":\"I moved to Bergen\",\"about\":\"user\",\"lasting\":true}]}`
		}
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":"%s"},"finish_reason":"stop"}],"usage":{"prompt_tokens":500,"completion_tokens":20}}`, ops)
	}))
	t.Cleanup(upstream.Close)
	found = lines(t, "learn", "--url", upstream.URL+"/v1", "--model", "m", lesson)
	for metric, want := range map[string]float64{"superseded": 1, "recall": 0.5, "precision": 1, "tokens a turn": 520, "calls a turn": 1} {
		if f := found["learned by m: "+metric+": value"]; f["value"] != want {
			t.Errorf("by a model, %s is %v, want %v", metric, f, want)
		}
	}
}

// TestAnswersOfAModelAreMeasured has a model that answers what it is asked, and judges what it answered.
func TestAnswersOfAModelAreMeasured(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"model":"judge"`)) {
			fmt.Fprint(w, `{"choices":[{"message":{"content":"{\"correct\":true,\"refused\":false}"}}],"usage":{"prompt_tokens":100,"completion_tokens":10}}`)
			return
		}
		fmt.Fprint(w, `{"choices":[{"message":{"content":"On the lake."}}],"usage":{"prompt_tokens":100,"completion_tokens":10}}`)
	}))
	t.Cleanup(server.Close)
	talk, rows := file(t, "talk.jsonl", ownTalk), filepath.Join(t.TempDir(), "rows.jsonl")
	args := []string{
		"qa", "--set", "jsonl", "--answer-model", "reader", "--judge-model", "judge", "--url", server.URL + "/v1", "--key", "sk-qa",
		"--out", rows, "--budget", "700", talk,
	}
	out, err := bench(t, args...)
	for _, want := range []string{"accuracy", "1.000 [1.000, 1.000]", "unanswerable refused", "0.000 [0.000, 0.000]"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: no %q in\n%s", err, want, out)
		}
	}
	data, err := os.ReadFile(rows)
	if err != nil || bytes.Count(data, []byte("\n")) != 4 || bytes.Contains(data, []byte("sk-qa")) || calls.Load() != 8 {
		t.Errorf("rows: %v, %d calls\n%s", err, calls.Load(), data)
	}
	if _, err = bench(t, args...); !errors.Is(err, memory.Invalid) || calls.Load() != 8 {
		t.Errorf("with the file of another run: %v, %d calls", err, calls.Load())
	}
	if f := lines(t, "qa", "--set", "jsonl", "--budget", "12,700", talk); f["evidence: all: 700 tokens"]["value"] != 1.0 || f["evidence: all: 12 tokens"]["n"] != 3.0 {
		t.Errorf("evidence without a model: %v", f)
	}
}

func TestWrongUseIsNamed(t *testing.T) {
	talk, lesson := file(t, "talk.jsonl", ownTalk), file(t, "lessons.jsonl", ownLesson)
	for want, args := range map[string][]string{
		"--limit":                       {"retrieval", "--limit", "-1", talk},
		`"squad" is not a data set`:     {"retrieval", "--set", "squad", talk},
		"addr: locibench":               {"retrieval", "--set", "jsonl", "--config", file(t, "loci.yaml", "addr: http://127.0.0.1:7077\n"), talk},
		"there is no model":             {"retrieval", "--set", "jsonl", "--config", file(t, "loci.yaml", "embedder: local:nowhere\n"), talk},
		"one is not enough":             {"retrieval", "--set", "jsonl", "--fit", "--limit", "1", talk},
		"--facts":                       {"chat", "--facts", "none"},
		"--json prints":                 {"chat", "--json", "--show"},
		"held-back half":                {"chat", "--held-back", "--show"},
		"no trial set":                  {"chat", "--set", "/no/such/folder"},
		"--url and --model":             {"learn", "--model", "m", lesson},
		`"x" is not a data set`:         {"learn", "--set", "x", lesson},
		`"nonsense" is not a valid URL`: {"learn", "--url", "nonsense", "--model", "m", lesson},
		"base URL must look":            {"qa", "--set", "jsonl", "--answer-model", "m", "--out", "x", "--url", "nonsense", talk},
		"--url and --out":               {"qa", "--set", "jsonl", "--answer-model", "m", "--url", "http://localhost:1/v1", talk},
		"--budget":                      {"qa", "--budget", "0", talk},
		"only locomo":                   {"qa", "--set", "jsonl", "--held-back", talk},
		"--only":                        {"load", "--only", "nothing"},
		"at least 1":                    {"load", "--memories", "0"},
		"above 1":                       {"size", "--popularity", "1"},
	} {
		if out, err := bench(t, args...); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q\n%s", args, err, want, out)
		}
	}
}

// loadArgs returns the arguments of a small run.
func loadArgs(args ...string) []string {
	return append([]string{"load", "--loci", os.Args[0], "--memories", "60", "--requests", "4", "--clients", "2", "--owners", "3", "--each", "5"}, args...)
}

func TestLoadMeasuresEveryPart(t *testing.T) {
	t.Setenv("LOCI_NO_SUCH_SETTING", "would stop the server")
	found := lines(t, loadArgs()...)
	for _, part := range parts {
		measured := 0
		for name := range found {
			if strings.HasPrefix(name, part.name) {
				measured++
			}
		}
		if measured == 0 {
			t.Errorf("%s was not measured", part.name)
		}
	}
	for _, name := range []string{"recall: top 10 of 60 turns: p50 ms", "disk: 60 turns, server stopped: bytes a memory", "bulk: 60 turns in requests of 500, durable: turns a second"} {
		if f := found[name]; f["value"] == nil || f["value"].(float64) <= 0 || f["memories"] != 60.0 {
			t.Errorf("%s: %v", name, f)
		}
	}
}

func TestLoadMeasuresADatabaseServer(t *testing.T) {
	found := lines(t, loadArgs("--store", pgtest.Schema(t), "--only", "recall,add,disk")...)
	if found["recall: top 10 of 60 turns: p50 ms"] == nil || found["add: one fact, durable, nothing learned from it: p50 ms"] == nil || found["disk: 60 turns, server stopped: bytes a memory"] != nil {
		t.Errorf("got %v", found)
	}
}

func TestLoadHandsSettingsToTheServer(t *testing.T) {
	if _, err := bench(t, loadArgs("--only", "recall", "--set", "no.such.setting=1")...); err == nil || !strings.Contains(err.Error(), "no.such.setting") {
		t.Errorf("%v, want the server's error about the setting", err)
	}
}

func TestSizeCountsWhatIsResident(t *testing.T) {
	found := lines(t, "size", "--users", "100", "--each", "10", "--resident", "1048576", "--requests", "20000", "--budget", "9MiB,100MiB,500MiB,1GiB")
	last := -1.0
	for i, name := range []string{"0.0088 GiB", "0.098 GiB", "0.49 GiB", "1 GiB"} {
		users, hits := found["index budget: "+name+": users resident"]["value"], found["index budget: "+name+": hit rate, %"]["value"]
		if users != []float64{0, 10, 50, 100}[i] || hits == nil || hits.(float64) <= last {
			t.Errorf("%s: %v users, hit rate %v after %v", name, users, hits, last)
		} else {
			last = hits.(float64)
		}
	}
	if last != 100 {
		t.Errorf("hit rate %v with room for all", last)
	}
}
