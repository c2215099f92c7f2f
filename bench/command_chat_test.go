package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/bench/eval"
	"github.com/loci-memory/loci/memory"
)

const ownChat = `{"id":"ida","chats":[{"at":"2025-03-03T07:05:00Z","exchanges":[
 {"id":"e1","user":"My sister Ragna keeps goats in Voss.","assistant":"How many goats?"}]}],"facts":[],
 "needed":[{"id":"n1","message":"Where does my sister Ragna keep her goats?","answers":["Voss"],"gold":["e1"]},
  {"id":"n2","message":"Wohin fahre ich?","answers":["Voss"],"gold":["e1"]}],
 "unrelated":[{"id":"u1","kind":"arithmetic","message":"12 * 7"}],"surroundings":[]}`

func chatTrialsOf(t *testing.T, args ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ida.json"), []byte(ownChat), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"chat", "--set", dir}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestBenchChatPrintsForPeopleAndPrograms(t *testing.T) {
	out, err := chatTrialsOf(t, "--show", "--set", "embedder=local:mean", "--set", "models_dir="+tinyModels)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"embedder local:mean, reranker none", "answer in the prompt, bare", "unrelated with memory", "plain cosine by local:mean"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out, err = chatTrialsOf(t, "--show"); err != nil || !strings.Contains(out, "no answer ida n2") || strings.Contains(out, "no answer ida n1") {
		t.Errorf("shown: %v\n%s", err, out)
	}
	out, err = chatTrialsOf(t, "--json")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for line := range strings.Lines(out) {
		var f eval.ChatFigure
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		found = found || f.System == eval.ChatLoci && f.Person == "ida" && f.Metric == "answered" && f.Value == 1 && f.N == 2 && f.Version != ""
	}
	if !found {
		t.Errorf("no row of one answer of two in\n%s", out)
	}
}

func TestWrongUseOfBenchChatIsNamed(t *testing.T) {
	for want, args := range map[string][]string{
		"--facts":           {"--facts", "none"},
		"--json prints":     {"--json", "--show"},
		"half held back":    {"--held-back", "--show"},
		"no trial set":      {"--set", "/no/such/folder"},
		"there is no model": {"--set", "embedder=local:nowhere"},
	} {
		if out, err := chatTrialsOf(t, args...); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q\n%s", args, err, want, out)
		}
	}
}
