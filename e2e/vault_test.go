package e2e

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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
	if block := after.asked(t, up, askAllergy); !strings.Contains(block, allergyFact) {
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
