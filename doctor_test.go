package loci

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/disk"
)

// TestTheDoctorLooksWhetherThereIsRoom: less than there should be is a finding, what is
// enough is only told, and what is not known is neither.
func TestTheDoctorLooksWhetherThereIsRoom(t *testing.T) {
	for name, c := range map[string]struct {
		left          int64
		err           error
		looked, found string
	}{
		"full":      {0, nil, "", "0 MiB are left"},
		"little":    {leastRoom - 1, nil, "", "255 MiB are left"},
		"enough":    {leastRoom, nil, "data folder /d: 256 MiB are left", ""},
		"not known": {0, errors.ErrUnsupported, "", ""},
		"not there": {0, os.ErrNotExist, "", "file does not exist"},
	} {
		var got checkup
		got.room("data folder", "/d", func(string) (int64, error) { return c.left, c.err })
		looked, found := strings.Join(got.Checked, "; "), ""
		for _, f := range got.Findings {
			found += f.What
		}
		if (looked == "") != (c.looked == "") || (found == "") != (c.found == "") || !strings.Contains(looked, c.looked) || !strings.Contains(found, c.found) {
			t.Errorf("%s: looked at %q, found %q", name, looked, found)
		}
	}
}

// TestTheDoctorWritesIntoTheDataFolder: it leaves nothing there, says what it saw in words
// for one and for many, and tells of a folder that is gone.
func TestTheDoctorWritesIntoTheDataFolder(t *testing.T) {
	dir := t.TempDir()
	l := openWith(t, map[string]string{"store": "sqlite", "data": filepath.Join(dir, "data")})
	l.fine(t)
	before, err := os.ReadDir(filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := l.Doctor(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadDir(filepath.Join(dir, "data"))
	if err != nil || len(after) != len(before) {
		t.Errorf("there were %v, and are %v, %v", before, after, err)
	}
	if _, err := disk.Room(dir); err == nil && !strings.Contains(strings.Join(found.Checked, "\n"), "MiB are left on its disk") {
		t.Errorf("it looked at %q", found.Checked)
	}
	l.config.Data = filepath.Join(dir, "gone")
	if found, err = l.Doctor(t.Context(), false); err != nil || len(found.Findings) != 1 || found.Findings[0].Part != "data folder" {
		t.Errorf("without the folder: %+v, %v", found.Findings, err)
	}
	l.config.Data = filepath.Join(dir, "data", databaseFile) // nothing can be written into a file
	if found, err = l.Doctor(t.Context(), false); err != nil || len(found.Findings) == 0 || !strings.Contains(found.Findings[0].What, "nothing can be written into it") {
		t.Errorf("where nothing can be written: %+v, %v", found.Findings, err)
	}
}

// TestServersThatShareAFolderNoteEmbeddersEachForItself: what another is writing is in
// nobody's way.
func TestServersThatShareAFolderNoteEmbeddersEachForItself(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, embeddersFile+".tmp"), 0o700); err != nil { // another is at it
		t.Fatal(err)
	}
	openWith(t, map[string]string{"store": "sqlite", "data": dir})
	if file, err := os.ReadFile(filepath.Join(dir, embeddersFile)); err != nil || !strings.Contains(string(file), "lexical") {
		t.Errorf("it noted %q, %v", file, err)
	}
}
