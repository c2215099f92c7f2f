package assembly

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/engine/lessons"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// vaultAt opens a memory in a vault, with settings as key and value in turn.
func vaultAt(t *testing.T, dir string, settings ...string) *Loci {
	t.Helper()
	return try(tryVault(t, dir, settings...)).orFail(t)
}

func tryVault(t *testing.T, dir string, settings ...string) (*Loci, error) {
	t.Helper()
	flags := map[string]string{"vault": filepath.Join(dir, "vault"), "data": filepath.Join(dir, "data"), "log.level": "error"}
	for i := 0; i < len(settings); i += 2 {
		flags[settings[i]] = settings[i+1]
	}
	config := try(config.Load(config.Sources{Flags: flags})).orFail(t)
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
	return try(l.Remember(context.Background(), "default", content)).orFail(t)
}

func closed(t *testing.T, l *Loci) {
	t.Helper()
	noError(t)(l.Close())
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	return try(os.ReadFile(path)).orFail(t)
}

func TestVaultThatIsHeldStopsTheStartAndSaysByWhom(t *testing.T) {
	for _, store := range []string{"sqlite", "memory"} {
		dir := t.TempDir()
		l := vaultAt(t, dir, "store", store)
		defer closed(t, l)
		_, err := tryVault(t, dir, "store", store)
		if !errors.Is(err, memory.Conflict) || !strings.Contains(err.Error(), "process") || !strings.Contains(err.Error(), filepath.Join(dir, "vault")) {
			t.Errorf("%s, opened twice: %v; want a conflict that names the process and the vault", store, err)
		}
	}
}

// TestAnotherMachinesChatsStayAsTheyAre: their files come by git or a sync tool. Were they moved
// aside, the other machine would forget what was said when it gets that back.
func TestAnotherMachinesChatsStayAsTheyAre(t *testing.T) {
	l, other := vaultAt(t, t.TempDir()), vaultAt(t, t.TempDir())
	defer closed(t, l)
	other.say(t, "I live in Lisbon.")
	noError(t)(other.vault.Store.Flush(t.Context()))
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
		return errors.Join(os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o700), os.WriteFile(filepath.Join(to, name), text, 0o600))
	})
	if err != nil || len(came) < 2 {
		t.Fatalf("%d files came: %v", len(came), err)
	}
	if told := l.findings(t); len(told) != 1 || !strings.Contains(told[0], "belongs to a chat that Loci does not know") {
		t.Errorf("doctor: %q", told)
	}
	for path, text := range came {
		if is := string(readFile(t, path)); is != text {
			t.Errorf("%s is %q", path, is)
		}
	}
	if path, _ := l.settledFile(t, "User lives in Lisbon"); strings.Contains(path, "conflict") {
		t.Errorf("what it learned is in %s", path)
	}
}

// TestRebuiltTurnsCountAsLearned rebuilds a vault, whose facts were learned from its turns: one was
// forgotten and one rejected since, and learning again brings neither back.
func TestRebuiltTurnsCountAsLearned(t *testing.T) {
	dir := t.TempDir()
	l := vaultAt(t, dir)
	l.say(t, "My dog is called Rex.", "I play chess.", "I live in Lisbon. I am allergic to peanuts.")
	path, text := l.settledFile(t, "User has a dog named Rex")
	noError(t)(os.WriteFile(path, []byte(strings.Replace(text, "status: active", "status: rejected", 1)), 0o600))
	if path, _ = l.settledFile(t, "User plays chess"); os.Remove(path) != nil {
		t.Fatal("the file stays")
	}
	l.look(t, vaultstore.ScanOptions{})
	before := l.everything(t)
	if len(before) != 7 {
		t.Fatalf("%d facts and turns, want 4 and 3: %v", len(before), before)
	}
	closed(t, l)
	noError(t)(os.RemoveAll(filepath.Join(dir, "data")))
	l = vaultAt(t, dir)
	defer closed(t, l)
	noError(t)(l.engine.Lessons.Relearn(t.Context(), userNamed("default"), lessons.RelearnOptions{})) // again, on purpose
	l.say(t, "How are you?")
	after := l.everything(t)
	for _, all := range []map[string]string{before, after} { // a turn whose fact was rejected may be retired by learning again
		maps.DeleteFunc(all, func(_, what string) bool { return !strings.HasPrefix(what, "{") })
	}
	if diff := cmp.Diff(after, before); diff != "" {
		t.Errorf("rebuilt (-got +want):\n%s", diff)
	}
}

// TestAFileThatIsBackBeforeItIsForgotten comes back between the look and what follows of it.
func TestAFileThatIsBackBeforeItIsForgotten(t *testing.T) {
	l := vaultAt(t, t.TempDir())
	defer closed(t, l)
	for _, what := range []string{"bread", "maps", "rain", "snow", "wind"} {
		l.remember(t, "User likes "+what)
	}
	path, text := l.settledFile(t, "User likes bread")
	noError(t)(os.Remove(path))
	r, err := l.vault.Store.Scan(t.Context(), vaultstore.ScanOptions{})
	if err != nil || len(r.Edits) != 1 {
		t.Fatalf("the report is %+v, %v", r, err)
	}
	noError(t)(errors.Join(os.WriteFile(path, []byte(text), 0o600), l.vault.ApplyReport(t.Context(), r)))
	if told := l.findings(t); l.facts(t) != 5 || len(told) > 0 {
		t.Errorf("%d facts are left, and the doctor says %q", l.facts(t), told)
	}
}
