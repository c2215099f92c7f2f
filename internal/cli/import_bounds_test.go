package cli

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
)

// TestArchiveThatUnpacksToTooMuchIsRefused: 300 MiB out of some 300 KiB.
func TestArchiveThatUnpacksToTooMuchIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bomb.zip")
	out := try(os.Create(file)).orFail(t)
	z := zip.NewWriter(out)
	w := try(z.Create("facts.md")).orFail(t)
	for range 300 {
		noError(t)(w.Write(bytes.Repeat([]byte("a"), 1<<20)))
	}
	noError(t)(errors.Join(z.Close(), out.Close()))
	s := newStandIn(t, map[string]any{"POST /api/import": client.Imported{}})
	if said, err := s.loci(t, "import", file); err == nil || !strings.Contains(err.Error(), "unpacks to more than") {
		t.Errorf("got %q, %v; want it refused", said, err)
	}
}
