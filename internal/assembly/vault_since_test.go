package assembly

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/internal/vaultsync"
	"github.com/loci-memory/loci/memory"
)

// anywhere reports whether a file of the vault has a text.
func (l *Loci) anywhere(t *testing.T, words string) (found bool) {
	t.Helper()
	err := filepath.WalkDir(l.vault.Store.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			found = found || strings.Contains(string(readFile(t, path)), words)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestAStaleSaveBringsNothingBack: an editor has the file of a fact open while the fact is
// forgotten or replaced, and saves it.
func TestAStaleSaveBringsNothingBack(t *testing.T) {
	ctx := context.Background()
	forget := func(t *testing.T, l *Loci, f memory.Fact) {
		if _, err := l.engine.Curate.Forget(ctx, userOf("default"), []string{f.ID}, "asked", byProgram); err != nil {
			t.Fatal(err)
		}
	}
	ends := map[string]func(*testing.T, *Loci, memory.Fact){
		"forgotten": forget,
		"replaced":  func(t *testing.T, l *Loci, _ memory.Fact) { l.remember(t, "User lives in Rome") },
		"moved to deleted": func(t *testing.T, l *Loci, f memory.Fact) {
			path, _ := l.settledFile(t, f.Content)
			to := strings.Replace(path, "/entries/", "/deleted/entries/", 1)
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path, to); err != nil {
				t.Fatal(err)
			}
			l.findings(t)
		},
	}
	saves := map[string]*strings.Replacer{
		"a comment":      strings.NewReplacer("kind: fact\n", "kind: fact\n# of mine\n"),
		"tags":           strings.NewReplacer("kind: fact\n", "kind: fact\ntags: [of mine]\n"),
		"words":          strings.NewReplacer("lives in Oslo", "lives in Oslo, of mine"),
		"words and tags": strings.NewReplacer("lives in Oslo", "lives in Oslo, of mine", "kind: fact\n", "kind: fact\ntags: [of mine]\n"),
	}
	for how, end := range ends {
		for what, save := range saves {
			for _, soon := range []bool{true, false} {
				t.Run(how+", "+what+map[bool]string{true: " at once"}[soon], func(t *testing.T) {
					l, f, path, text := among(t, "User lives in Oslo")
					end(t, l, f)
					if !soon {
						if err := l.vault.Store.Settle(ctx); err != nil {
							t.Fatal(err)
						}
					}
					if how == "moved to deleted" {
						path = strings.Replace(path, "/entries/", "/deleted/entries/", 1)
					}
					put(t, path, save.Replace(text))
					for range 2 {
						l.findings(t)
						if err := l.vault.Store.Settle(ctx); err != nil {
							t.Fatal(err)
						}
					}
					if got := l.fact(t, f.ID); got.Status.Live() {
						t.Errorf("it is %s again", got.Status)
					}
					if !l.anywhere(t, "of mine") {
						t.Error("what was written is nowhere")
					}
				})
			}
		}
	}
}

// TestAConflictIsToldWithItsReason: both files are there, and doctor says why.
func TestAConflictIsToldWithItsReason(t *testing.T) {
	l, f, path, text := among(t, "User lives in Oslo")
	l.remember(t, "User lives in Rome")
	if err := l.vault.Store.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	put(t, path, strings.Replace(text, "in Oslo", "in Oslo again", 1))
	told := strings.Join(l.findings(t), "\n")
	if !strings.Contains(told, ".conflict-") || !strings.Contains(told, "another fact took its place meanwhile") {
		t.Errorf("doctor: %q", told)
	}
	if got := l.fact(t, f.ID); got.Status != memory.Superseded || got.Content != f.Content {
		t.Errorf("it is %q, %s", got.Content, got.Status)
	}
}

// say says something in a chat, and waits until it is learned from.
func (l *Loci) say(t *testing.T, words string) {
	t.Helper()
	ctx := context.Background()
	if _, err := l.Record(ctx, "default", "chat", Message{Role: memory.RoleUser, Content: words}); err != nil {
		t.Fatal(err)
	}
	l.during(t, func() {
		if err := l.runner.Drain(ctx); err != nil {
			t.Error(err)
		}
	})
}

// everything is how facts and turns stand, by their ids, but for when they were written.
func (l *Loci) everything(t *testing.T) map[string]string {
	t.Helper()
	all := []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected}
	q := memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindTurn}, Statuses: all, Limit: 500}
	page, err := l.engine.List(context.Background(), userOf("default"), q)
	if err != nil || page.Next != "" {
		t.Fatalf("%d memories, and more: %v", len(page.Memories), err)
	}
	out := map[string]string{}
	for _, m := range page.Memories {
		if f := m.Fact; f != nil {
			f.UpdatedAt, f.Version = time.Time{}, 0
			text, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			out[f.ID] = string(text)
		} else {
			out[m.Turn.ID] = fmt.Sprintf("%s: %s", m.Turn.Content, m.Turn.Status)
		}
	}
	return out
}

// TestThereAndBack checks an older commit out and comes back: memory is as it was before.
func TestThereAndBack(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, own := range []string{"false", "true"} { // whether Loci commits, too
		t.Run("vault_git "+own, func(t *testing.T) {
			ctx := context.Background()
			home := t.TempDir()
			l := vaultAt(t, home, "vault_git", own)
			defer func() { closed(t, l) }()
			dir := l.vault.Store.Dir()
			say := func(words string) { // what works through jobs does so once
				t.Helper()
				l.say(t, words)
				closed(t, l)
				l = vaultAt(t, home, "vault_git", own)
			}
			git := func(args ...string) {
				t.Helper()
				if _, err := vaultsync.GitIn(ctx, dir, append([]string{"-c", "user.name=x", "-c", "user.email=x@localhost"}, args...)...); err != nil {
					t.Fatal(err)
				}
			}
			save := func(message string) {
				t.Helper()
				if err := l.vault.Store.Settle(ctx); err != nil {
					t.Fatal(err)
				}
				git("add", "--all", ".")
				git("commit", "--quiet", "--allow-empty", "--message", message)
			}
			settled := func() {
				t.Helper()
				for range 2 {
					if _, err := l.vault.Look(ctx, vaultstore.ScanOptions{}); err != nil { // as at a start
						t.Fatal(err)
					}
					if err := l.vault.Store.Settle(ctx); err != nil {
						t.Fatal(err)
					}
				}
				if own == "true" {
					if err := l.vault.Git.Commit(ctx); err != nil {
						t.Fatal(err)
					}
				}
			}
			if own == "false" {
				git("init", "--quiet")
				put(t, filepath.Join(dir, ".gitignore"), ".loci\n")
			}
			for _, what := range []string{"bread", "maps", "rain", "snow", "wind", "fog", "hail"} {
				l.remember(t, "User likes "+what)
			}
			say("I live in Lisbon.")
			chess := l.remember(t, "User plays chess on Mondays")
			dog := l.remember(t, "User has a dog named Rex")
			save("before")
			git("branch", "before")
			say("I moved to Porto.")
			words := "User plays chess on Tuesdays"
			if _, err := l.engine.Curate.EditFact(ctx, userOf("default"), chess.ID, curate.Edit{Content: &words}, byProgram); err != nil {
				t.Fatal(err)
			}
			if _, err := l.engine.Curate.Forget(ctx, userOf("default"), []string{dog.ID}, "asked", byProgram); err != nil {
				t.Fatal(err)
			}
			save("after")
			git("branch", "after")
			was := l.everything(t)
			if all := fmt.Sprint(was); !strings.Contains(all, `"status":"superseded"`) || !strings.Contains(all, "Lisbon.: active") {
				t.Fatalf("nothing was replaced that a turn taught: %s", all)
			}
			git("checkout", "--quiet", "before")
			settled()
			if got := l.fact(t, dog.ID).Status; got != memory.Active {
				t.Errorf("where it was before, the dog is %s", got)
			}
			if got := l.fact(t, chess.ID).Content; got != chess.Content {
				t.Errorf("where it was before, chess is %q", got)
			}
			git("checkout", "--quiet", "--force", "after")
			settled()
			is := l.everything(t)
			for id, want := range was {
				if is[id] != want {
					t.Errorf("%s is\n%s\nand was\n%s", id, is[id], want)
				}
			}
			if len(is) != len(was) {
				t.Errorf("there are %d memories, and were %d", len(is), len(was))
			}
			if told := l.findings(t); len(told) > 0 {
				t.Errorf("doctor: %q", told)
			}
		})
	}
}

// TestWhatGitBringsBackWithOtherLineEndsCounts as it stands, too: git for Windows writes them so.
func TestWhatGitBringsBackWithOtherLineEndsCounts(t *testing.T) {
	ctx := context.Background()
	l, f, path, text := among(t, "User plays chess on Mondays")
	words := "User plays chess on Tuesdays"
	if _, err := l.engine.Curate.EditFact(ctx, userOf("default"), f.ID, curate.Edit{Content: &words}, byProgram); err != nil {
		t.Fatal(err)
	}
	_, now := l.settledFile(t, words)
	for _, c := range []struct{ text, want string }{{text, f.Content}, {now, words}, {text, f.Content}} {
		l.edited(t, path, strings.ReplaceAll(c.text, "\n", "\r\n"))
		if err := l.vault.Store.Settle(ctx); err != nil {
			t.Fatal(err)
		}
		if got := l.fact(t, f.ID); got.Content != c.want || got.Trust != f.Trust {
			t.Errorf("it says %q, of %s; want %q", got.Content, got.Trust, c.want)
		}
		if told := l.findings(t); len(told) > 0 {
			t.Errorf("doctor: %q", told)
		}
	}
}

// TestAPluginsTimeIsNoOtherMachines: an editor's plugin writes when a file was saved where Loci
// does. What a person wrote there is theirs all the same.
func TestAPluginsTimeIsNoOtherMachines(t *testing.T) {
	for form, at := range map[string]func() string{
		"of this machine": func() string { return time.Now().In(time.FixedZone("", 7200)).Format(time.RFC3339Nano) },
		"without a zone":  func() string { return time.Now().UTC().Format("2006-01-02T15:04:05.999999999") },
	} {
		t.Run(form, func(t *testing.T) {
			l := vaultAt(t, t.TempDir())
			defer closed(t, l)
			l.say(t, "I have a dog named Rex.")
			path, text := l.settledFile(t, "User has a dog named Rex")
			f := l.fact(t, filepath.Base(path)[strings.Index(filepath.Base(path), "__")+2:len(filepath.Base(path))-len(".md")])
			old := "updated_at: " + f.UpdatedAt.UTC().Format(time.RFC3339Nano)
			if !strings.Contains(text, old) {
				t.Fatalf("%s is not in\n%s", old, text)
			}
			saved := at()
			put(t, path, strings.NewReplacer(old, "updated_at: "+saved, "User has a dog named Rex", "User lives in Oslo").Replace(text))
			l.findings(t)
			got := l.fact(t, f.ID)
			if got.Content != "User lives in Oslo" || got.Source != memory.FromFile || got.Trust != memory.TrustPerson || got.Attribute == f.Attribute || got.Attribute == "" {
				t.Errorf("it is %q of %s, %s, about %q", got.Content, got.Source, got.Trust, got.Attribute)
			}
			if _, text := l.settledFile(t, "User lives in Oslo"); strings.Contains(text, saved) || !strings.Contains(text, "updated_at: "+got.UpdatedAt.UTC().Format(time.RFC3339Nano)) {
				t.Errorf("the file has not the time of the change:\n%s", text)
			}
		})
	}
}

// TestRestoredWithOtherKeysAtOnce: the file of a forgotten fact is brought back with other keys
// than it had. That is one look and one run, which one undo takes back.
func TestRestoredWithOtherKeysAtOnce(t *testing.T) {
	for how, bring := range map[string]func(t *testing.T, path, text string){
		"where it lies": func(t *testing.T, path, text string) {
			put(t, path, strings.Replace(text, "status: retired\n", "status: active\ntags: [north]\n", 1))
		},
		"moved back": func(t *testing.T, path, text string) {
			put(t, strings.Replace(path, "/deleted/", "/", 1), strings.Replace(text, "status: retired\n", "status: retired\ntags: [north]\n", 1))
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, byItsFile := range []bool{true, false} {
			t.Run(fmt.Sprint(how, ", by its file ", byItsFile), func(t *testing.T) {
				l, f, path, _ := among(t, "User lives in Oslo")
				if byItsFile {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
					l.look(t, vaultstore.ScanOptions{})
				} else if _, err := l.engine.Curate.Forget(t.Context(), userOf("default"), []string{f.ID}, "asked", byProgram); err != nil {
					t.Fatal(err)
				}
				gone, text := l.settledFile(t, "User lives in Oslo")
				if got := l.fact(t, f.ID); got.Status != memory.Retired || !strings.Contains(gone, "/deleted/") {
					t.Fatalf("it is %s, at %s", got.Status, gone)
				}
				before := l.runs(t)
				bring(t, gone, text)
				l.look(t, vaultstore.ScanOptions{})
				if got := l.fact(t, f.ID); !got.Status.Live() || len(got.Tags) != 1 {
					t.Errorf("after one look it is %s with %q", got.Status, got.Tags)
				}
				if n := l.runs(t) - before; n != 1 {
					t.Errorf("it took %d runs", n)
				}
			})
		}
	}
}

// runs is how many runs the journal has.
func (l *Loci) runs(t *testing.T) int {
	t.Helper()
	page, err := l.engine.Changes(t.Context(), userOf("default"), memory.ChangeQuery{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]bool{}
	for _, c := range page.Changes {
		runs[c.Run] = true
	}
	return len(runs)
}
