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

// chatOf measures ida.
func chatOf(t *testing.T, facts string) ChatReport {
	t.Helper()
	persons, err := OpenChat(chatFolder(t, func(string) string { return "" }), false)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Chat(t.Context(), persons, defaults(t), facts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestChatIsMeasuredAsTheUpstreamSeesIt(t *testing.T) {
	for _, facts := range []string{FactsByRules, FactsGiven} {
		r := chatOf(t, facts)
		of := map[string]string{}
		for _, row := range r.Rows("") {
			for _, c := range row.Cells {
				of[c.Metric+": "+strings.TrimSpace(row.Name)] = c.String()
			}
		}
		for name, want := range map[string]string{
			"loci: answer in the prompt, bare": "1 of 1", "loci: unrelated with memory": "0 of 1",
			"BM25 by clause: answer in the prompt, bare": "1 of 1", "BM25 by clause: code or log before": "1 of 1",
			"BM25 by clause: unrelated with memory": "0 of 1",
		} {
			if of[name] != want {
				t.Errorf("%s: %s is %q, want %s", facts, name, of[name], want)
			}
		}
		if len(r.Missed) > 0 || len(r.Rows("ida")) != len(r.Rows("")) {
			t.Errorf("%s: missed %q, rows of ida %v", facts, r.Missed, r.Rows("ida"))
		}
	}
}

// Probes must not teach memory what later probes find.
func TestMessagesOfATrialLeaveNoTrace(t *testing.T) {
	var p ChatPerson
	if err := json.Unmarshal([]byte(chatSet), &p); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	trial, err := openChatTrial(ctx, defaults(t), FactsByRules)
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
	if err := trial.Loci.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if after, err := trial.memories(ctx, p); err != nil || len(after) != len(before) {
		t.Errorf("%d memories, %v; want %d as before", len(after), err, len(before))
	}
}

func TestBM25TakesTheBestClause(t *testing.T) {
	b := newBM25([]string{"The boiler was repaired by Asta.", "Rain again, and the tram was late today.", "Asta has a boat."})
	for message, want := range map[string][]int{"Rain again today and the tram late, who repaired the boiler?": {1, 0}, "what is 12 * 7": nil} {
		if got := b.best(message, 2); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", message, got, want)
		}
	}
}
