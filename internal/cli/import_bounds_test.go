package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
)

// TestArchiveThatUnpacksToTooMuchIsRefused: 300 MiB out of some 300 KiB.
func TestArchiveThatUnpacksToTooMuchIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bomb.zip")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(out)
	w, err := z.Create("facts.md")
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		if _, err := w.Write(bytes.Repeat([]byte("a"), 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	s := newStandIn(t, map[string]any{"POST /api/import": client.Imported{}})
	if said, err := s.loci(t, "import", file); err == nil || !strings.Contains(err.Error(), "unpacks to more than") {
		t.Errorf("got %q, %v; want it refused", said, err)
	}
}

// endless is a list whose one item never ends.
type endless struct{ begun bool }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	if !e.begun {
		e.begun = true
		copy(p, `["`)
	}
	return len(p), nil
}

func TestImportHoldsNoEndlessItem(t *testing.T) {
	told := ""
	c := &cutter{send: func([]byte, int) error { return nil }, bad: func(_ int, reason string) error { told = reason; return nil }}
	if err := c.items(&endless{}); err != nil || !strings.Contains(told, "longer than") {
		t.Errorf("got %v and %q, want the item named as too long", err, told)
	}
}

func TestPartsOfAnImportHaveFewRows(t *testing.T) {
	rows, most := 0, 0
	c := &cutter{send: func(part []byte, _ int) error {
		n := bytes.Count(part, []byte("\n"))
		rows, most = rows+n, max(most, n)
		return nil
	}}
	if err := c.list(strings.NewReader(strings.Repeat("- a\n", 120_000))); err != nil || rows != 120_000 || most > partRows {
		t.Errorf("%d rows, up to %d in a part, %v; want all, at most %d in a part", rows, most, err, partRows)
	}
}

func TestImportStopsReadingWhenItIsStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := io.ReadAll(whileWanted{ctx, &endless{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}
