package vault

import (
	"encoding/json"
	"path/filepath"
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

// TestJournalOfBeforeIsRead opens a vault that kept a journal of its own, without its database.
func TestJournalOfBeforeIsRead(t *testing.T) {
	v, want := recorded(t)
	s, err := Open(t.Context(), v.dir, inSQLite(filepath.Join(t.TempDir(), "loci.db")), Options{Now: v.now.Now, Home: memtest.Ana})
	v.Store = opened(t, s, err)
	v.settled()
	if diff := cmp.Diff(asJSON(t, s), want); diff != "" {
		t.Errorf("what is known (-got +want):\n%s", diff)
	}
	v.quiet()
}
