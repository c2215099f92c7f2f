package assembly

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// damages are what may happen to a vault's journal.
var damages = map[string]func(text []byte) []byte{
	"cut in half":        func(text []byte) []byte { return text[:len(text)/2] },
	"cut near its end":   func(text []byte) []byte { return text[:len(text)-30] },
	"garbage":            func(text []byte) []byte { return bytes.Repeat([]byte{0xa5}, len(text)) },
	"zeros":              func(text []byte) []byte { return make([]byte, len(text)) },
	"empty":              func([]byte) []byte { return nil },
	"gone":               nil,
	"a line torn":        func(text []byte) []byte { text[len(text)/3] = '\n'; return text },
	"a line missing":     func(text []byte) []byte { return slices.Delete(text, lineEnd(text, 4), lineEnd(text, 6)) },
	"its begin missing":  func(text []byte) []byte { return text[lineEnd(text, 5):] },
	"a line broken":      func(text []byte) []byte { copy(text[lineEnd(text, 7):], `{"own`+"\x00"); return text },
	"the last line gone": func(text []byte) []byte { return text[:lineEnd(text, bytes.Count(text, []byte("\n"))-1)] },
}

// lineEnd is the offset behind the first n lines.
func lineEnd(text []byte, n int) int {
	at := 0
	for range n {
		at += bytes.IndexByte(text[at:], '\n') + 1
	}
	return at
}

// TestDamagedJournalServesEveryReadableFile takes the database away and damages the journal:
// what the files have is served, and the doctor names the files that it cannot read.
func TestDamagedJournalServesEveryReadableFile(t *testing.T) {
	for name, damage := range damages {
		for _, crashed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, crashed %v", name, crashed), func(t *testing.T) {
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
				if crashed {
					if err := os.WriteFile(filepath.Join(dir, "vault", ".loci", "open"), nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				damageJournal(t, dir, damage)
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
					_, found := doctorSays(t, l)
					if got := l.facts(t); got == 29 && !strings.Contains(found, filepath.Base(broken)) {
						t.Errorf("doctor found %q, want %s", found, broken)
					}
					if aside := l.vault.DamagedJournals(); len(aside) > 0 && !strings.Contains(found, aside[0]) {
						t.Errorf("doctor found %q, want %s", found, aside)
					}
					closed(t, l)
				}
			})
		}
	}
}

func damageJournal(t *testing.T, dir string, damage func([]byte) []byte) {
	t.Helper()
	journal := filepath.Join(dir, "vault", ".loci", "journal.jsonl")
	text, err := os.ReadFile(journal)
	if err == nil && damage != nil {
		err = os.WriteFile(journal, damage(text), 0o600)
	} else if err == nil {
		err = os.Remove(journal)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDamagedJournalBesideTheDatabase keeps the database: nothing is lost, history neither.
func TestDamagedJournalBesideTheDatabase(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l := vaultAt(t, dir)
			for i := range 30 {
				l.remember(t, fmt.Sprintf("User owns gadget %d", i))
			}
			closed(t, l)
			damageJournal(t, dir, damage)
			l = vaultAt(t, dir)
			defer closed(t, l)
			l.remember(t, "User owns a kite")
			if got := l.facts(t); got != 31 {
				t.Errorf("%d facts are served, want 31", got)
			}
			changes, err := l.engine.Store.Changes(t.Context(), userOf(httpx.DefaultUser), memory.ChangeQuery{Limit: 500})
			if err != nil || len(changes.Changes) != 31 {
				t.Errorf("%d changes are known, %v; want 31", len(changes.Changes), err)
			}
		})
	}
}
