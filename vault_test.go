package loci

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/memory"
)

// vaultAt opens a memory in a vault, with settings as key and value in turn.
func vaultAt(t *testing.T, dir string, settings ...string) *Loci {
	t.Helper()
	l, err := tryVault(t, dir, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func tryVault(t *testing.T, dir string, settings ...string) (*Loci, error) {
	t.Helper()
	flags := map[string]string{"vault": filepath.Join(dir, "vault"), "data": filepath.Join(dir, "data"), "log.level": "error"}
	for i := 0; i < len(settings); i += 2 {
		flags[settings[i]] = settings[i+1]
	}
	config, err := LoadConfig(Sources{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	return Open(context.Background(), config, Options{Log: t.Output()})
}

// during runs what goes on in the background while do does something.
func (l *Loci) during(t *testing.T, do func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	do()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func (l *Loci) remember(t *testing.T, content string) memory.Fact {
	t.Helper()
	f, err := l.Remember(context.Background(), "default", content)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func closed(t *testing.T, l *Loci) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestVaultThatIsHeldStopsTheStartAndSaysByWhom(t *testing.T) {
	for _, store := range []string{"sqlite", "memory"} {
		t.Run(store, func(t *testing.T) {
			dir := t.TempDir()
			l := vaultAt(t, dir, "store", store)
			defer closed(t, l)
			_, err := tryVault(t, dir, "store", store)
			if !errors.Is(err, memory.Conflict) || !strings.Contains(err.Error(), "process") || !strings.Contains(err.Error(), filepath.Join(dir, "vault")) {
				t.Errorf("opened twice: %v; want a conflict that names the process and the vault", err)
			}
		})
	}
}

func TestMemoryStaysInTheVaultAlone(t *testing.T) {
	dir := t.TempDir()
	l := vaultAt(t, dir, "store", "memory")
	fact := l.remember(t, "User plays the cello")
	closed(t, l)
	l = vaultAt(t, dir, "store", "memory")
	defer closed(t, l)
	hits, err := l.Recall(context.Background(), "default", "Which instrument do I play?")
	if err != nil || len(hits) != 1 || hits[0].Memory.ID() != fact.ID {
		t.Errorf("recalled %+v, %v; want the fact that the files have", hits, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", databaseFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a database: %v", err)
	}
}

// TestErasedWordsAreInNoFile erases a fact, by the engine's verb, and looks into the
// vault and the data folder.
func TestErasedWordsAreInNoFile(t *testing.T) {
	dir := t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	ctx := context.Background()
	if _, err := l.Record(ctx, "default", "chat", Message{Role: memory.RoleUser, Content: "I like marzipan very much."}); err != nil {
		t.Fatal(err)
	}
	l.remember(t, "User likes marzipan")
	l.remember(t, "User plays chess")
	if err := l.vault.store.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	gone, _, err := l.engine.ForgetMatching(ctx, userOf("default"), engine.Matching{Query: "marzipan", Erase: true}, byProgram)
	if err != nil || len(gone) != 2 {
		t.Fatalf("erased %d memories, want the fact and what was said: %v", len(gone), err)
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "marzipan") {
			t.Errorf("%s has the word", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDoctorTellsWhatIsWrongWithTheVault(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	for _, what := range []string{"tea", "rain", "bread", "maps"} {
		l.remember(t, "User likes "+what)
	}
	findings := func(confirm bool) []string {
		t.Helper()
		c, err := l.Doctor(ctx, confirm)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, f := range c.Findings {
			out = append(out, f.Part+" "+f.Path+": "+f.What)
		}
		return out
	}
	if err := l.vault.store.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if got := findings(false); len(got) > 0 {
		t.Errorf("nothing is wrong, but: %q", got)
	}
	facts := filepath.Join(dir, "vault", "entries", "global", "facts")
	for name, text := range map[string]string{"binary.md": "\xff\xfe", "half.md": "---\ntags: [a", "huge.md": strings.Repeat("x", 1<<20+1)} {
		if err := os.WriteFile(filepath.Join(facts, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := findings(false); len(got) != 3 || !strings.Contains(got[0], "binary.md: it is not UTF-8") || !strings.Contains(got[1], "half.md") || !strings.Contains(got[2], "huge.md") {
		t.Errorf("three files cannot be read, but: %q", got)
	}
	if err := os.WriteFile(filepath.Join(facts, "twin.md"), []byte("User likes tea"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := findings(false); len(got) != 4 || !strings.Contains(strings.Join(got, "\n"), "twin.conflict-") {
		t.Errorf("a fact that is there already is kept beside, but: %q", got)
	}
	if err := os.RemoveAll(filepath.Join(dir, "vault", "entries")); err != nil {
		t.Fatal(err)
	}
	if got := findings(false); len(got) != 1 || !strings.Contains(got[0], "4 files are gone at once") {
		t.Errorf("so many deletions wait, but: %q", got)
	}
	if hits, err := l.Recall(ctx, "default", "Do I like tea?"); err != nil || len(hits) == 0 {
		t.Errorf("they were forgotten without being asked: %v, %v", hits, err)
	}
	if got := findings(true); len(got) != 0 {
		t.Errorf("they are confirmed, but: %q", got)
	}
	if hits, err := l.Recall(ctx, "default", "Do I like tea?"); err != nil || len(hits) > 0 {
		t.Errorf("they are still recalled: %v, %v", hits, err)
	}
}

func TestGitHasACommitThatSaysWhatChanged(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	dir := t.TempDir()
	for _, fact := range []string{"User plays chess", "User lives in Lisbon", "User lives in Porto"} {
		l := vaultAt(t, dir, "vault_git", "true")
		l.during(t, func() { l.remember(t, fact) })
		closed(t, l)
	}
	out, err := exec.Command("git", "-C", filepath.Join(dir, "vault"), "log", "--format=%s").CombinedOutput()
	want := "written: User lives in Porto (replaces User lives in Lisbon)\nwritten: User lives in Lisbon\nbegin the vault\n"
	if err != nil || string(out) != want {
		t.Errorf("the log is (%v):\n%s\nwant:\n%s", err, out, want)
	}
	out, err = exec.Command("git", "-C", filepath.Join(dir, "vault"), "status", "--short").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("left over (%v):\n%s", err, out)
	}
}

// TestGitThatFailsBlocksNothing lets there be a repository that git cannot read.
func TestGitThatFailsBlocksNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", t.TempDir())
	l := vaultAt(t, dir, "vault_git", "true")
	l.during(t, func() { l.remember(t, "User plays chess") })
	closed(t, l)
	l = vaultAt(t, dir)
	defer closed(t, l)
	if hits, err := l.Recall(context.Background(), "default", "Do I play chess?"); err != nil || len(hits) != 1 {
		t.Errorf("recalled %v, %v", hits, err)
	}
}
