package vault

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestTheNameOfMarksLasts: a file that was made is there after a power cut once its folder is
// synced, too; what could not be is done with the next mark, and once is enough.
func TestTheNameOfMarksLasts(t *testing.T) {
	v := newVault(t)
	var synced []string
	full := true
	v.marks.sync = func(folder string) error {
		if full {
			return errors.New("no space is left")
		}
		synced = append(synced, folder)
		return disk.SyncFolder(folder)
	}
	batch := memtest.Batch(memtest.Ana, "c", 0, "I drink tea", "So do I")
	if err := v.Bury(t.Context(), memtest.Ana, batch.Turns[0]); err == nil {
		t.Error("it lasts, though its folder could not be synced")
	}
	full = false
	for range 2 {
		if err := v.Bury(t.Context(), memtest.Ana, batch.Turns...); err != nil {
			t.Fatal(err)
		}
	}
	if len(synced) != 1 || synced[0] != filepath.Join(v.dir, ownFolder) {
		t.Errorf("synced %q, want the folder of the marks, once", synced)
	}
}

// TestATimeThatALociWrote: those of an editor's plugin are none.
func TestATimeThatALociWrote(t *testing.T) {
	for when, want := range map[string]bool{
		"2026-05-03T14:02:11.204113Z":      true,
		"2026-05-03T14:02:11.2Z":           true,
		"2026-05-03T14:02:11Z":             false, // a second, as plugins have it
		"2026-05-03T14:02":                 false,
		"2026-05-03T14:02:11.204113+02:00": false,
		"2026-05-03T14:02:11.204113":       false,
		"2026-05-03T14:02:11.200Z":         false, // Loci leaves noughts out
		"Sunday, May 3rd 2026":             false,
		"":                                 false,
	} {
		if got := ofNow("---\nkind: fact\nupdated_at: " + when + "\n---\nwords\n"); got != want {
			t.Errorf("%q: %v", when, got)
		}
	}
}
