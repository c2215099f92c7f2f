package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestProbeLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "loci.db"), []byte("memory"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ProbeWrite(dir); err != nil {
		t.Error(err)
	}
	onlyThere(t, dir, "loci.db")
	for _, where := range []string{filepath.Join(dir, "gone"), filepath.Join(dir, "loci.db")} {
		if err := ProbeWrite(where); err == nil {
			t.Errorf("%s can be written into", where)
		}
	}
}

func TestRoomIsThatOfTheDisk(t *testing.T) {
	n, err := FreeBytes(t.TempDir())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || n <= 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := FreeBytes(filepath.Join(t.TempDir(), "gone")); !os.IsNotExist(err) {
		t.Errorf("of a folder that is not there: %v", err)
	}
}

// TestReplaceAmongOthersNeedsNoTurn: whoever else is writing the same file, each writes a
// whole one.
func TestReplaceAmongOthersNeedsNoTurn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "notes.json")
	half, err := os.OpenFile(path+tempSuffix, os.O_WRONLY|os.O_CREATE, 0o600) // somebody is at it
	if err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFileShared(path, []byte("mine")); err != nil {
		t.Fatal(err)
	}
	if _, err := half.WriteString("another's, longer"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(half.Close(), os.Rename(path+tempSuffix, path)); err != nil {
		t.Fatalf("the other's half is gone: %v", err)
	}
	done := make(chan error, 8)
	for range cap(done) {
		go func() { done <- ReplaceFileShared(path, []byte("mine")) }()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "mine" {
		t.Errorf("got %q, %v", got, err)
	}
	onlyThere(t, dir, "notes.json")
}
