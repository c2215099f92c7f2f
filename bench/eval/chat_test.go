package eval

import (
	"archive/zip"
	"bytes"
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

// chatSet is a person with three statements.
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
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	w, _ := z.Create("bea.json")
	_, _ = w.Write([]byte(strings.Replace(chatSet, `"ida"`, `"bea"`, 1)))
	_ = z.Close()
	for name, data := range map[string][]byte{
		"ida.json": []byte(chatSet), heldBackFile: packed.Bytes(), readmeFile: []byte(noted(fmt.Sprintf("%x", sha256.Sum256(packed.Bytes())))),
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

// Every needed answer must be in a current fact or in a turn.
func TestAnswersOfChatSetsAreThere(t *testing.T) {
	for dir, direct := range map[string]bool{"testdata/chat-recall": true, "testdata/chat-unseen": false} {
		persons, err := OpenChat(dir, false)
		if err == nil && direct {
			persons, err = Directly(dir, persons)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range persons {
			known := map[string]string{}
			for _, c := range p.Chats {
				for _, e := range c.Exchanges {
					known[e.ID] = e.User + "\n" + e.Assistant
				}
			}
			for i, f := range p.Facts {
				if delete(known, f.Replaces); f.Text != "" {
					known[f.ID] = f.Text
				}
				if i > 0 && f.At.Before(p.Facts[i-1].At) {
					t.Errorf("%s: %s is older than the fact before it", p.ID, f.ID)
				}
			}
			if len(p.Needed) == 0 {
				t.Errorf("%s: no messages", p.ID)
			}
			for _, m := range p.Needed {
				if len(m.Gold) != 1 || !holds(known[m.Gold[0]], m.Answers) {
					t.Errorf("%s %s: %v is not in %v", p.ID, m.ID, m.Answers, m.Gold)
				}
			}
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
		for _, row := range r.Rows() {
			of[strings.TrimSpace(row.Name)] = row.Cells[0].String()
		}
		for name, want := range map[string]string{
			"answer in the prompt, bare": "1 of 1", "code or log before": "1 of 1", "unrelated with memory": "0 of 1",
		} {
			if of[name] != want {
				t.Errorf("%s: %s is %q, want %s", facts, name, of[name], want)
			}
		}
		if len(r.Missed) > 0 || of["tokens a conversation, needed"] == "0.0" {
			t.Errorf("%s: missed %q, rows %v", facts, r.Missed, of)
		}
	}
}

// Nothing may be learned from probes.
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

// At the end, memory must not contain a fact that was corrected or ended later.
func TestGivenFactsAreCorrectedAndEnded(t *testing.T) {
	var p ChatPerson
	facts := `"facts":[
 {"id":"f1","at":"2025-03-01T07:05:00Z","text":"User's sister Ragna keeps goats in Voss."},
 {"id":"f2","at":"2025-03-01T07:06:00Z","text":"User drives a red Saab."},
 {"id":"f3","at":"2025-03-04T07:05:00Z","replaces":"f2","text":"User drives a blue Volvo."},
 {"id":"f4","at":"2025-03-05T09:05:00Z","replaces":"f1"}]`
	old := `"facts":[{"id":"f1","from":["e1"],"text":"The user's sister Ragna keeps goats in Voss."}]`
	if err := json.Unmarshal([]byte(strings.Replace(chatSet, old, facts, 1)), &p); err != nil || len(p.Facts) != 4 {
		t.Fatal(err, p.Facts)
	}
	trial, err := openChatTrial(t.Context(), defaults(t), FactsGiven)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = trial.close() }()
	if err := trial.record(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	memories, err := trial.memories(t.Context(), p)
	var held []string
	for _, m := range memories {
		if strings.HasPrefix(m.content, "User") {
			held = append(held, m.content)
		}
	}
	if want := []string{"User drives a blue Volvo."}; err != nil || !slices.Equal(held, want) {
		t.Errorf("%q, %v; want %q", held, err, want)
	}
}

func TestDirectQuestionsAreCountedSeparately(t *testing.T) {
	dir := chatFolder(t, func(string) string { return "" })
	lines := `{"person":"ida","id":"d1","kind":"direct","message":"where's ragna","answers":["Voss"],"gold":["f1"]}` + "\n" +
		`{"person":"bea","id":"d1","message":"who","answers":["nobody"]}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "direct.jsonl"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	persons, err := OpenChat(dir, false)
	if err == nil {
		persons, err = Directly(dir, persons)
	}
	if err != nil || len(persons) != 1 || len(persons[0].Needed) != 1 || persons[0].Needed[0].ID != "d1" || persons[0].Unrelated != nil {
		t.Errorf("%+v, %v", persons, err)
	}
}
