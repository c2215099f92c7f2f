package eval

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/memory"
)

// chatSet is a person who tells three things.
const chatSet = `{"id":"ida","chats":[{"at":"2025-03-03T07:05:00Z","exchanges":[
 {"id":"e1","user":"My sister Ragna keeps goats in Voss.","assistant":"How many goats?"},
 {"id":"e2","user":"Good morning!","assistant":"Good morning to you."}]},
 {"at":"2025-03-05T07:05:00Z","exchanges":[
 {"id":"e3","user":"I am allergic to penicillin, the doctor said.","assistant":"I will keep that in mind."}]}],
 "facts":[{"id":"f1","from":["e1"],"text":"The user's sister Ragna keeps goats in Voss."}],
 "needed":[{"id":"n1","message":"Where does my sister Ragna keep her goats?","answers":["Voss"],"gold":["f1","e1"]}],
 "unrelated":[{"id":"u1","kind":"arithmetic","message":"12 * 7"}],
 "surroundings":[{"name":"small talk 16","kind":"talk","places":["before"],"text":"Well, hello you."},
  {"name":"log","kind":"log","places":["before","after"],"text":"2025-03-05 kernel: usb 1-1: reset\n2025-03-05 kernel: usb 1-1: gone"}]}`

// chatFolder writes a folder of trial sets: ida, and held back the same with another name.
func chatFolder(t *testing.T, noted func(hash string) string) string {
	t.Helper()
	dir := t.TempDir()
	held := []byte(strings.Replace(chatSet, `"ida"`, `"bea"`, 1))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	_ = w.WriteHeader(&tar.Header{Name: "bea.json", Mode: 0o644, Size: int64(len(held))})
	_, _ = w.Write(held)
	_, _ = w.Close(), z.Close()
	for name, data := range map[string][]byte{
		"ida.json": []byte(chatSet), heldBackFile: packed.Bytes(), readmeFile: []byte(noted(fmt.Sprintf("%x", sha256.Sum256(held)))),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestChatSetsAreWhole(t *testing.T) {
	dir := filepath.Join("testdata", "chat-recall")
	for heldBack, want := range map[bool][]string{false: {"achieng", "callum", "emiliano", "gurleen", "jhoanna", "marlene", "rosie", "roswitha", "winston", "zofia"}, true: {"edson", "ruolin"}} {
		persons, err := OpenChat(dir, heldBack)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range persons {
			names = append(names, p.ID)
			exchanges, arounds := 0, 0
			for _, c := range p.Chats {
				exchanges += len(c.Exchanges)
			}
			for _, s := range p.Surroundings {
				arounds += len(s.Places)
			}
			if exchanges < 30 || len(p.Needed) < 20 || len(p.Unrelated) < 25 || arounds < 10 {
				t.Errorf("%s: %d exchanges, %d needed, %d unrelated, %d surroundings", p.ID, exchanges, len(p.Needed), len(p.Unrelated), arounds)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("held back %v: %v, want %v", heldBack, names, want)
		}
	}
}

func TestChangedHeldBackHalfIsRefused(t *testing.T) {
	if p, err := OpenChat(chatFolder(t, func(hash string) string { return hash }), true); err != nil || p[0].ID != "bea" {
		t.Errorf("as noted: %v, %v", p, err)
	}
	if _, err := OpenChat(chatFolder(t, func(string) string { return "another hash" }), true); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("changed: %v", err)
	}
}

func TestBrokenChatSetsAreNamed(t *testing.T) {
	for change, want := range map[[2]string]string{
		{`"answers":["Voss"]`, `"answers":["Bergen"]`}: "no gold of it holds an answer",
		{`"answers":["Voss"]`, `"answers":["sister"]`}: "holds its answer",
		{`"from":["e1"]`, `"from":["e9"]`}:             "not an exchange",
		{`"needed":[`, `"unneeded":[`}:                 "is empty",
		{`{"id":"ida"`, `["id":"ida"`}:                 "ida.json",
		{"", ""}:                                       "",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "ida.json"), []byte(strings.Replace(chatSet, change[0], change[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenChat(dir, false); want == "" && err != nil || want != "" && (!errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v, want %q", change, err, want)
		}
	}
	if _, err := OpenChat(t.TempDir(), false); !errors.Is(err, memory.Invalid) {
		t.Errorf("no set: %v", err)
	}
}

// chatOf measures ida.
func chatOf(t *testing.T, facts ChatFacts) ChatReport {
	t.Helper()
	config, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	persons, err := OpenChat(chatFolder(t, func(string) string { return "" }), false)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Chat(t.Context(), persons, ChatOptions{Config: config, Facts: facts, Cosine: embed.Lexical{}})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestChatIsMeasuredAsTheUpstreamSeesIt(t *testing.T) {
	for _, facts := range []ChatFacts{FactsByRules, FactsGiven} {
		report := chatOf(t, facts)
		of := map[string]ChatFigure{}
		for _, f := range report.Figures("v") {
			if f.Person == "" {
				of[strings.TrimSpace(f.System+": "+f.Metric+" "+f.Around)] = f
			}
		}
		for name, want := range map[string]float64{
			"loci: answered": 1, "loci: unrelated with memory": 0,
			"BM25 by clause: answered": 1, "BM25 by clause: answered code or log before": 1, "BM25 by clause: unrelated with memory": 0,
			"plain cosine: answered": 1, "plain cosine: unrelated with memory": 1,
		} {
			if got, ok := of[name]; !ok || got.Value != want || got.N != 1 || got.Facts != string(facts) || got.Embedder != "lexical" {
				t.Errorf("%s: %s is %+v, want %v", facts, name, got, want)
			}
		}
		if f := of["loci: hits that help"]; f.Value <= 0 || f.N == 0 {
			t.Errorf("%s: hits that help: %+v", facts, f)
		}
		if again := chatOf(t, facts); again.String() != report.String() {
			t.Errorf("%s: a second run gives\n%snot\n%s", facts, again, report)
		}
	}
}

// Probes must not teach memory what later probes find.
func TestMessagesOfATrialLeaveNoTrace(t *testing.T) {
	config, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	var p ChatPerson
	if err := json.Unmarshal([]byte(chatSet), &p); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	trial, err := openChatTrial(ctx, ChatOptions{Config: config, Facts: FactsByRules})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := trial.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := trial.record(ctx, p); err != nil {
		t.Fatal(err)
	}
	before, err := trial.memories(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(before, func(m chatMemory) bool { return strings.Contains(m.content, "Voss") }); len(before) < 6 || i < 0 || !before[i].isFrom([]string{"e1"}) {
		t.Fatalf("memories: %+v", before)
	}
	for range 3 {
		if _, _, err := trial.send(ctx, p.ID, "read", "", []chatMessage{{memory.RoleUser, "Remember that I live in Tromsø."}}, "ok"); err != nil {
			t.Fatal(err)
		}
	}
	if err := trial.loci.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if after, err := trial.memories(ctx, p); err != nil || len(after) != len(before) {
		t.Errorf("%d memories, %v; want %d as before", len(after), err, len(before))
	}
}

func TestBM25TakesTheBestClause(t *testing.T) {
	var b bm25
	b.add("The boiler was repaired by Asta.", "Rain again, and the tram was late today.", "Asta has a boat.")
	if got := b.bestByClause("Rain again today and the tram late, who repaired the boiler?", 2); !slices.Equal(got, []int{1, 0}) {
		t.Errorf("two clauses: %v, want the best of each", got)
	}
	if got := b.bestByClause("what is 12 * 7", 2); len(got) != 0 {
		t.Errorf("nothing shared: %v", got)
	}
}
