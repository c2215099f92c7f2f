package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestOneHolder takes a lock twice, and again after each release.
func TestOneHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	for range 3 {
		release, err := Lock(path, "has it open")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Lock(path, "has it open"); !errors.Is(err, memory.Conflict) || !strings.Contains(err.Error(), "has it open") {
			t.Errorf("a lock that is held: %v", err)
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAHolderSaysWhereItAnswers reads it while the lock is held, and not once somebody
// else has taken it.
func TestAHolderSaysWhereItAnswers(t *testing.T) {
	t.Parallel()
	const url = "http://127.0.0.1:7077"
	path := filepath.Join(t.TempDir(), "lock")
	if at := HolderURL(path); at != "" {
		t.Errorf("without a lock file %q answers", at)
	}
	release, err := Lock(path, "has it open")
	if err != nil {
		t.Fatal(err)
	}
	if at := HolderURL(path); at != "" {
		t.Errorf("a holder that did not say answers at %q", at)
	}
	if err := SetURL(path, url); err != nil {
		t.Fatal(err)
	}
	if at := HolderURL(path); at != url {
		t.Errorf("the holder answers at %q, want %q", at, url)
	}
	if _, err := Lock(path, "has it open"); !errors.Is(err, memory.Conflict) || !strings.HasSuffix(err.Error(), ", which answers at "+url+", has it open") {
		t.Errorf("a lock whose holder answers: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if release, err = Lock(path, "has it open"); err != nil {
		t.Fatal(err)
	}
	if at := HolderURL(path); at != "" {
		t.Errorf("the next holder answers at %q", at)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("process 1 (loci) on elsewhere\nanswers at "+url+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if at := HolderURL(path); at != "" {
		t.Errorf("a holder on another machine answers at %q", at)
	}
}
