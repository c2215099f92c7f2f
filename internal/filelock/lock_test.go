package filelock

import (
	"errors"
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
		release, err := Take(path, "has it open")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Take(path, "has it open"); !errors.Is(err, memory.Conflict) || !strings.Contains(err.Error(), "has it open") {
			t.Errorf("a lock that is held: %v", err)
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
}
