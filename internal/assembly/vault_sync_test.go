package assembly

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// among returns a vault with some facts, one of which is returned with its file: so many
// that one which is gone is not held back.
func among(t *testing.T, content string, settings ...string) (l *Loci, f memory.Fact, path, text string) {
	t.Helper()
	l = vaultAt(t, t.TempDir(), settings...)
	t.Cleanup(func() { closed(t, l) })
	for _, what := range []string{"bread", "maps", "rain", "snow", "wind"} {
		l.remember(t, "User likes "+what)
	}
	f = l.remember(t, content)
	path, text = l.settledFile(t, content)
	return l, f, path, text
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestACopyBringsNothingBack: a sync tool's copy of a file lies beside it when its memory is
// forgotten, or replaced.
func TestACopyBringsNothingBack(t *testing.T) {
	for what, ends := range map[string]func(l *Loci, f memory.Fact) error{
		"forgotten": func(l *Loci, f memory.Fact) error {
			_, err := l.engine.Curate.Forget(context.Background(), userOf("default"), []string{f.ID}, "asked", byProgram)
			return err
		},
		"replaced": func(l *Loci, _ memory.Fact) error {
			l.remember(t, "User lives in Rome")
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			l, f, path, text := among(t, "User lives in Oslo")
			put(t, strings.TrimSuffix(path, ".md")+" (conflicted copy 2026-11-21).md", text)
			if told := l.findings(t); len(told) == 0 {
				t.Error("the copy is not told of")
			}
			if err := ends(l, f); err != nil {
				t.Fatal(err)
			}
			if err := l.vault.Store.Settle(context.Background()); err != nil {
				t.Fatal(err)
			}
			l.findings(t)
			if got := l.fact(t, f.ID).Status; got.Live() {
				t.Errorf("it is %s again", got)
			}
		})
	}
}

// TestARefusedMoveForgetsNothing: a file is renamed and says what another memory says, or
// what was not said.
func TestARefusedMoveForgetsNothing(t *testing.T) {
	l, f, path, text := among(t, "User owns a red bicycle")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(filepath.Dir(path), "bike.md"), strings.Replace(text, f.Content, "User likes maps", 1))
	l.findings(t) // looks twice
	if got := l.fact(t, f.ID); got.Status != memory.Active || got.Content != f.Content {
		t.Errorf("it is %q, %s", got.Content, got.Status)
	}
}

// TestAMergeUnderWayIsNotTaken: git's marks are not words, and their file is not said to be
// merged.
func TestAMergeUnderWayIsNotTaken(t *testing.T) {
	ctx := context.Background()
	l, f, path, text := among(t, "User owns a red bicycle", "vault_git", "true")
	g := l.vault.Git
	do := func(args ...string) {
		t.Helper()
		if _, err := g.Git(ctx, append([]string{"-c", "user.name=x", "-c", "user.email=x@localhost"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	if err := g.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	do("checkout", "--quiet", "-b", "laptop")
	put(t, path, strings.Replace(text, "red", "blue", 1))
	do("commit", "--quiet", "--all", "--message", "blue")
	do("checkout", "--quiet", "-")
	put(t, path, strings.Replace(text, "red", "green", 1))
	do("commit", "--quiet", "--all", "--message", "green")
	if _, err := g.Git(ctx, "merge", "laptop"); err == nil {
		t.Fatal("both merge")
	}
	if told := strings.Join(l.findings(t), "\n"); !strings.Contains(told, "conflict marks") {
		t.Errorf("told is %q", told)
	}
	if got := l.fact(t, f.ID).Content; strings.Contains(got, "<<<<") {
		t.Errorf("memory is %q", got)
	}
	if err := g.Commit(ctx); err != nil {
		t.Error(err)
	}
	if unmerged, err := g.Git(ctx, "ls-files", "--unmerged"); err != nil || unmerged == "" {
		t.Errorf("the merge was ended: %v", err)
	}
}

// TestHalfAFileWithAMark: an editor begins a file with a byte order mark, and half of it is
// there.
func TestHalfAFileWithAMark(t *testing.T) {
	l, f, path, text := among(t, "User owns a red bicycle")
	put(t, path, "\ufeff"+text[:len(text)/2])
	l.findings(t)
	if got := l.fact(t, f.ID); got.Content != f.Content || got.Status != memory.Active {
		t.Errorf("it is %q, %s", got.Content, got.Status)
	}
}

// TestAnotherMachinesChatsStayAsTheyAre: their files come by git or a sync tool. Were they moved
// aside, the other machine would forget what was said when it gets that back.
func TestAnotherMachinesChatsStayAsTheyAre(t *testing.T) {
	l, _, _, _ := among(t, "User owns a red bicycle")
	other := vaultAt(t, t.TempDir())
	other.say(t, "I live in Lisbon.")
	if err := other.vault.Store.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	closed(t, other)
	from, to := os.DirFS(other.vault.Store.Dir()), l.vault.Store.Dir()
	came := map[string]string{}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		if !strings.Contains(name, "/facts/") {
			came[filepath.Join(to, name)] = string(text)
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o700); err != nil {
			return err
		}
		put(t, filepath.Join(to, name), string(text))
		return nil
	})
	if err != nil || len(came) < 2 {
		t.Fatalf("%d files came: %v", len(came), err)
	}
	told := l.findings(t)
	if len(told) != 1 || !strings.Contains(told[0], "of a chat, and Loci knows nothing of what it says") {
		t.Errorf("doctor: %q", told)
	}
	for path, text := range came {
		if is, err := os.ReadFile(path); err != nil || string(is) != text {
			t.Errorf("%s is %q, %v", path, is, err)
		}
	}
	if path, _ := l.settledFile(t, "User lives in Lisbon"); strings.Contains(path, "conflict") {
		t.Errorf("what it learned is in %s", path)
	}
}
