package assembly

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// factFiles returns the paths of a vault's facts, in order of what they say.
func factFiles(t *testing.T, dir string) (paths []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "vault", "entries", "global", "facts", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// facts returns how many active facts the default user has.
func (l *Loci) facts(t *testing.T) int {
	t.Helper()
	page, err := l.engine.Store.List(t.Context(), userOf(httpx.DefaultUser), memory.Query{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Memories)
}

func TestUnreadableFileDoesNotStopForgettingOthers(t *testing.T) {
	for name, breaks := range map[string]func(path string) error{
		"no UTF-8": func(path string) error {
			return os.WriteFile(path, []byte("---\nid: \xff\xfe\n---\n\xff\xff\n"), 0o600)
		},
		"binary":                  func(path string) error { return os.WriteFile(path, make([]byte, 5000), 0o600) },
		"empty":                   func(path string) error { return os.Truncate(path, 0) },
		"cut in the front matter": func(path string) error { return os.Truncate(path, 20) },
		"a folder":                func(path string) error { return os.Remove(path) },
		"a dead link":             func(path string) error { return os.Remove(path) },
		"too long":                func(path string) error { return os.Truncate(path, 3<<20) },
		"no permission":           func(path string) error { return os.Chmod(path, 0) },
	} {
		for _, running := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, running %v", name, running), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				l := vaultAt(t, dir)
				for i := range 12 {
					l.remember(t, fmt.Sprintf("User owns gadget %d", i))
				}
				if err := l.vault.Store.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
				if !running {
					closed(t, l)
				}
				files := factFiles(t, dir)
				if err := breaks(files[0]); err != nil {
					t.Fatal(err)
				}
				switch name {
				case "a folder":
					_ = os.Mkdir(files[0], 0o700)
				case "a dead link":
					_ = os.Symlink("/nowhere", files[0])
				}
				for _, f := range files[1:3] {
					if err := os.Remove(f); err != nil {
						t.Fatal(err)
					}
				}
				if !running {
					l = vaultAt(t, dir)
				} else {
					l.during(t, func() {
						for until := time.Now().Add(8 * time.Second); time.Now().Before(until) && l.facts(t) > 10; {
							time.Sleep(50 * time.Millisecond)
						}
					})
				}
				defer closed(t, l)
				if got := l.facts(t); got != 10 {
					t.Errorf("%d facts are left, want 10", got)
				}
			})
		}
	}
}

// TestLostDatabaseIsRebuiltFromEveryReadableFile takes the database away, and Loci's own folder:
// what the files have is served, and the doctor says where history begins and names the files
// that it cannot read.
func TestLostDatabaseIsRebuiltFromEveryReadableFile(t *testing.T) {
	for _, own := range []bool{true, false} {
		t.Run(fmt.Sprintf("its own folder is there %v", own), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l := vaultAt(t, dir)
			for i := range 30 {
				l.remember(t, fmt.Sprintf("User owns gadget %d", i))
			}
			if _, err := l.Record(t.Context(), "default", "chat", Message{Role: memory.RoleUser, Content: "Hello there."}, Message{Role: memory.RoleAssistant, Content: "Hello."}); err != nil {
				t.Fatal(err)
			}
			closed(t, l)
			broken := factFiles(t, dir)[3]
			if err := os.Truncate(broken, 3<<20); err != nil {
				t.Fatal(err)
			}
			if !own {
				if err := os.RemoveAll(filepath.Join(dir, "vault", ".loci")); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Remove(filepath.Join(dir, "data", databaseFile)); err != nil {
				t.Fatal(err)
			}
			for _, start := range []string{"first", "second"} {
				l = vaultAt(t, dir)
				if got := l.facts(t); got < 29 {
					t.Errorf("%s start: %d facts are served, want those of 29 files", start, got)
				}
				turns, err := l.engine.Store.Turns(t.Context(), userOf(httpx.DefaultUser), memory.TurnQuery{})
				if err != nil || len(turns) != 2 {
					t.Errorf("%s start: %d turns are served, %v; want 2", start, len(turns), err)
				}
				looked, found := doctorSays(t, l)
				if !strings.Contains(looked, "history: it begins on") {
					t.Errorf("%s start: doctor does not say where history begins: %q", start, looked)
				}
				if got := l.facts(t); got == 29 && !strings.Contains(found, filepath.Base(broken)) {
					t.Errorf("doctor found %q, want %s", found, broken)
				}
				closed(t, l)
			}
		})
	}
}
