package vault

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// recorded unpacks the files of a vault that kept a journal of its own, and returns what was
// known there, as JSON.
func recorded(t *testing.T) (v *vault, want string) {
	t.Helper()
	a, err := txtar.ParseFile("testdata/journal.txtar")
	if err != nil {
		t.Fatal(err)
	}
	clock := new(memtest.Clock)
	clock.Advance(1e9)
	v = &vault{T: t, dir: t.TempDir(), now: clock}
	for _, f := range a.Files {
		v.write(f.Name, string(f.Data))
	}
	return v, string(readFile(t, "testdata/journal.json"))
}

// asJSON is what is known of the owners of the recording.
func asJSON(t *testing.T, s *Store) string {
	t.Helper()
	all := map[memory.Owner]known{}
	for _, o := range []memory.Owner{memtest.Ana, memtest.Ben} {
		all[o] = export(t, s, o, memory.At{})
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// openRecorded opens a recorded vault around a database, and checks what is known.
func openRecorded(t *testing.T, v *vault, db, want string) {
	t.Helper()
	s, err := Open(t.Context(), v.dir, inSQLite(db), Options{Now: v.now.Now, Home: memtest.Ana})
	if err != nil {
		t.Fatal(err)
	}
	v.Store = s
	if diff := cmp.Diff(asJSON(t, s), want); diff != "" {
		t.Errorf("what is known (-got +want):\n%s", diff)
	}
	if aside := s.OldJournals(); len(aside) != 1 {
		t.Errorf("set aside: %q", aside)
	}
	v.settled()
	v.quiet()
	if _, err := os.Stat(v.path(filepath.Join(OwnFolder, journalFile))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the journal is still there: %v", err)
	}
}

// TestOldJournalIsReadOnce opens a vault that kept a journal of its own, without its database,
// around an older one, and around one that has everything.
func TestOldJournalIsReadOnce(t *testing.T) {
	v, want := recorded(t)
	before := tree(t, v.dir)
	db := filepath.Join(t.TempDir(), "loci.db")
	openRecorded(t, v, db, want)
	if diff := cmp.Diff(tree(t, v.dir), before); diff != "" {
		t.Errorf("files (-got +want):\n%s", diff)
	}
	if err := v.Store.Close(); err != nil {
		t.Fatal(err)
	}
	openRecorded(t, v, db, want) // nothing is read again
	if err := v.Store.Close(); err != nil {
		t.Fatal(err)
	}

	v, _ = recorded(t)
	openRecorded(t, v, db, want)
	if _, err := v.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), "tea"); err != nil {
		t.Fatal(err)
	}
	if aside := v.OldJournals(); len(aside) > 0 {
		t.Errorf("the old journal has what was erased: %q", aside)
	}
	if err := v.Store.Close(); err != nil {
		t.Fatal(err)
	}

	v, _ = recorded(t)
	older := &vault{T: t, dir: t.TempDir(), now: v.now}
	journal := v.read(filepath.Join(OwnFolder, journalFile))
	older.write(filepath.Join(OwnFolder, journalFile), strings.Join(strings.SplitAfter(journal, "\n")[:9], ""))
	db = filepath.Join(t.TempDir(), "loci.db")
	s, err := Open(t.Context(), older.dir, inSQLite(db), Options{Now: v.now.Now, Home: memtest.Ana})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openRecorded(t, v, db, want)
	opened(t, v.Store, nil)
}

// TestDamagedOldJournalIsSetAside takes the database away and damages the old journal: what the
// files say is known, and history begins anew.
func TestDamagedOldJournalIsSetAside(t *testing.T) {
	lines := func(text []byte) [][]byte { return bytes.SplitAfter(text, []byte("\n")) }
	for name, damage := range map[string]func(text []byte) []byte{
		"cut in half":        func(text []byte) []byte { return text[:len(text)/2] },
		"garbage":            func(text []byte) []byte { return bytes.Repeat([]byte{0xa5}, len(text)) },
		"zeros":              func(text []byte) []byte { return make([]byte, len(text)) },
		"empty":              func([]byte) []byte { return nil },
		"a line torn":        func(text []byte) []byte { text[len(text)/3] = '\n'; return text },
		"a line missing":     func(text []byte) []byte { return bytes.Join(slices.Delete(lines(text), 4, 6), nil) },
		"its begin missing":  func(text []byte) []byte { return bytes.Join(lines(text)[5:], nil) },
		"the last line gone": func(text []byte) []byte { return bytes.Join(lines(text)[:len(lines(text))-2], nil) },
	} {
		t.Run(name, func(t *testing.T) {
			v, _ := recorded(t)
			journal := filepath.Join(v.dir, OwnFolder, journalFile)
			writeFile(t, journal, damage(readFile(t, journal)))
			s, err := Open(t.Context(), v.dir, inSQLite(filepath.Join(t.TempDir(), "loci.db")), Options{Now: v.now.Now, Home: memtest.Ana})
			v.Store = opened(t, s, err)
			v.settled()
			v.quiet()
			k := export(t, s, memtest.Ana, memory.At{})
			if len(k.Memories) != 14 || len(k.Relations) == 0 || s.RebuiltAt().IsZero() {
				t.Errorf("%d memories, %d relations, rebuilt at %v", len(k.Memories), len(k.Relations), s.RebuiltAt())
			}
		})
	}
}
