package e2e

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openai/openai-go/v3"
)

// fileOf returns the one Markdown file of a vault whose last line is these words,
// waiting for it.
func (l *loci) fileOf(t *testing.T, vault, under, words string) string {
	t.Helper()
	found := ""
	eventually(t, l, "the file of "+words, patience, func() bool {
		found = ""
		_ = filepath.WalkDir(filepath.Join(vault, under), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") {
				return nil // it may be on its way to another place
			}
			if text, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(text), "---\n"+words+"\n") {
				found = path
			}
			return nil
		})
		return found != ""
	})
	return found
}

// knows waits until memory has a fact or has it no more.
func (l *loci) knows(t *testing.T, content string, wanted bool) {
	t.Helper()
	what := content + " to be known"
	if !wanted {
		what = content + " to be forgotten"
	}
	eventually(t, l, what, patience, func() bool { return count(l.facts(t, nil), "", content) > 0 == wanted })
}

// rewrite saves a file as many editors do: a new one takes its place.
func rewrite(t *testing.T, path, from, to string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), from) {
		t.Fatalf("%s does not say %q:\n%s", path, from, text)
	}
	if err := os.WriteFile(path+"~", []byte(strings.ReplaceAll(string(text), from, to)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
}

// asked returns the block that a question in a new chat is given.
func (l *loci) asked(t *testing.T, up *upstream, question string) string {
	t.Helper()
	c := chat{client: l.sdk(), history: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)}}
	c.send(t)
	return blockOf(t, up.last(t).Body)
}

func TestMemoryIsAFolderThatAPersonEdits(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	data, vault := t.TempDir(), t.TempDir()
	l := serve(t, data, up.setting(), "LOCI_VAULT="+vault)
	l.tell(t, allergy)
	l.add(t, "User lives in Lisbon", nil)
	l.add(t, "User plays chess", nil)

	// New words in a file are what the next answer is told.
	home := l.fileOf(t, vault, "entries/global/facts", "User lives in Lisbon")
	rewrite(t, home, "Lisbon", "Porto")
	l.knows(t, "User lives in Porto", true)
	if block := l.asked(t, up, "Where do I live?"); !strings.Contains(block, "Porto") || strings.Contains(block, "Lisbon") {
		t.Errorf("the block had to say Porto alone: %s", block)
	}
	l.prints(t, "history", "Lisbon", "Porto", "file")

	// A file of a person's own is a fact, and ends what it contradicts.
	note := filepath.Join(vault, "entries", "global", "facts", "moved.md")
	if err := os.WriteFile(note, []byte("User lives in Faro\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.knows(t, "User lives in Faro", true)
	l.knows(t, "User lives in Porto", false)
	l.fileOf(t, vault, "deleted/entries/global/facts", "User lives in Porto")

	// A deleted file is forgotten, with what was said; one that is put back is restored.
	chess := l.fileOf(t, vault, "entries/global/facts", "User plays chess")
	if err := os.Remove(chess); err != nil {
		t.Fatal(err)
	}
	l.knows(t, "User plays chess", false)
	gone := l.fileOf(t, vault, "deleted/entries/global/facts", "User plays chess")
	if err := os.Rename(gone, chess); err != nil {
		t.Fatal(err)
	}
	l.knows(t, "User plays chess", true)

	// What was said is not edited: the person's words are kept beside.
	turn := l.fileOf(t, vault, "entries", allergy)
	rewrite(t, turn, "peanuts", "nothing")
	eventually(t, l, "the file to be put aside", patience, func() bool {
		beside, _ := filepath.Glob(strings.TrimSuffix(turn, ".md") + ".conflict-*")
		return len(beside) == 1
	})
	l.fileOf(t, vault, "entries", allergy)
}

// everything is what memory has, in JSON.
func (l *loci) everything(t *testing.T) string {
	t.Helper()
	var all []any
	for _, status := range []string{"active", "superseded", "retired"} {
		for _, kind := range []string{"fact", "turn"} {
			var page struct{ Memories []any }
			l.read(t, "/api/memory?limit=500&kind="+kind+"&status="+status, &page)
			all = append(all, page.Memories...)
		}
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDatabaseIsMadeAnewFromTheVault(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	data, vault := t.TempDir(), t.TempDir()
	before := serve(t, data, up.setting(), "LOCI_VAULT="+vault)
	before.tell(t, allergy)
	before.add(t, "User lives in Lisbon", nil)
	before.add(t, "User lives in Porto", nil)
	before.fileOf(t, vault, "entries/global/facts", "User lives in Porto")
	want := before.everything(t)
	before.kill(t)

	// While Loci does not run the database goes, and a file is edited.
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	after := serve(t, data, up.setting(), "LOCI_VAULT="+vault)
	if got := after.everything(t); got != want {
		t.Errorf("memory is another one after it was made anew:\n%s\nwas:\n%s", got, want)
	}
	if block := after.asked(t, up, askAllergy); !strings.Contains(block, allergyTold) {
		t.Errorf("what was made anew is not recalled: %s", block)
	}
	after.stop(t)
	rewrite(t, after.fileOf(t, vault, "entries/global/facts", "User lives in Porto"), "Porto", "Braga")
	last := serve(t, data, up.setting(), "LOCI_VAULT="+vault)
	if facts := last.facts(t, nil); count(facts, "", "User lives in Braga") != 1 {
		t.Errorf("what was edited while Loci did not run is not known; known is:%s", contents(facts))
	}
	if status, _ := last.request(t, http.MethodGet, "/health/ready", nil, nil); status >= 300 {
		t.Errorf("ready: status %d", status)
	}
}

// editors save a file as programs do that people use: each is given a path and changes one
// word to another.
var editors = map[string]func(path, from, to string) *exec.Cmd{
	// A copy beside, the old file renamed, a new one written: vim's own way.
	"vim": func(path, from, to string) *exec.Cmd {
		return exec.Command("vim", "-u", "NONE", "-es", "-c", "set backup backupcopy=no writebackup",
			"-c", "%s/"+from+"/"+to+"/", "-c", "wq", path)
	},
	// The same file, emptied and written again.
	"ed": func(path, from, to string) *exec.Cmd {
		cmd := exec.Command("ed", "-s", path)
		cmd.Stdin = strings.NewReader(",s/" + from + "/" + to + "/\nw\nq\n")
		return cmd
	},
	// A new file renamed over the old one.
	"sed": func(path, from, to string) *exec.Cmd { return exec.Command("sed", "-i", "s/"+from+"/"+to+"/", path) },
}

// TestEditorsAndAChatAtOnce lets people save files with what editors there are while a
// chat is told things and facts are added. Everything is known in the end: what the chat
// said, and each edit, in memory or in a file beside that says that there was a conflict.
func TestEditorsAndAChatAtOnce(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	vault := t.TempDir()
	l := serve(t, t.TempDir(), up.setting(), "LOCI_VAULT="+vault)
	type edit struct{ editor, from, to, path string }
	var edits []edit
	things := []string{"apples", "bridges", "candles", "drums", "engines", "flutes"}
	for name, command := range editors {
		if _, err := exec.LookPath(command("", "", "").Path); err != nil {
			t.Logf("%s is not here", name)
			continue
		}
		for _, thing := range things {
			edits = append(edits, edit{editor: name, from: name + "-" + thing, to: name + "-other-" + thing})
		}
	}
	for i, e := range edits {
		l.add(t, "User collects "+e.from, nil)
		edits[i].path = l.fileOf(t, vault, "entries/global/facts", "User collects "+e.from)
	}

	facts := l.facts(t, nil)
	var people sync.WaitGroup
	for _, e := range edits {
		people.Go(func() {
			if out, err := editors[e.editor](e.path, e.from, e.to).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", e.editor, err, out)
			}
		})
	}
	people.Go(func() { // the same memories change while they are edited
		for _, f := range facts {
			status, body := l.request(t, http.MethodPatch, "/api/memory/"+f.ID, []byte(`{"pinned":true}`), nil)
			if status != http.StatusOK && status != http.StatusConflict {
				t.Errorf("pin: status %d: %s", status, body)
			}
		}
	})
	said := []string{"My sister is called Ida.", "I work as a baker.", "I am allergic to peanuts.", "I live in Porto."}
	for _, words := range said {
		l.tell(t, words)
	}
	people.Wait()

	eventually(t, l, "all edits to be known or kept beside", patience, func() bool {
		known := contents(l.facts(t, nil))
		for _, e := range edits {
			if !strings.Contains(known, e.to) && !keptBeside(vault, e.to) {
				return false
			}
		}
		return true
	})
	for _, words := range said {
		l.fileOf(t, vault, "entries", words)
	}
	if facts := l.facts(t, nil); len(facts) < len(edits) {
		t.Errorf("%d facts were edited, and there are %d:%s", len(edits), len(facts), contents(facts))
	}
}

// keptBeside reports whether a file that names a conflict has the words.
func keptBeside(vault, words string) bool {
	found := false
	_ = filepath.WalkDir(vault, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), ".conflict-") {
			text, _ := os.ReadFile(path)
			found = found || strings.Contains(string(text), words)
		}
		return nil
	})
	return found
}
