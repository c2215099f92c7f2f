package engine

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/transfer"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

func TestImportHasBounds(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, stores["inmem"])
	nested := `{"type":"fact","metadata":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "}\n"
	out, err := r.Transfer.Import(ctx, ana, transfer.ImportOptions{}, memory.Author{}, strings.NewReader(nested))
	if err != nil || out.Broken != 1 || !strings.Contains(out.Problems[0].Reason, "nests deeper") {
		t.Errorf("deep nesting: got %+v, %v", out, err)
	}
	words := strings.Repeat("User likes tea ", 1<<16)
	item := io.MultiReader(strings.NewReader(`["`), reading(func(p []byte) (int, error) { return copy(p, words), nil }))
	out, err = r.Transfer.Import(ctx, ana, transfer.ImportOptions{Format: portable.Mem0}, memory.Author{}, item)
	if err != nil || out.Broken != 1 || !strings.Contains(out.Problems[0].Reason, "longer than") {
		t.Errorf("an item without an end: got %+v, %v", out, err)
	}
	ended, cancel := context.WithCancel(ctx)
	defer cancel()
	endless := reading(func(p []byte) (int, error) { cancel(); return copy(p, "User likes tea\n"), nil })
	if _, err = r.Transfer.Import(ended, ana, transfer.ImportOptions{Format: portable.List}, memory.Author{}, endless); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: got %v, want the context's error", err)
	}
}

// reading is a function that reads.
type reading func(p []byte) (int, error)

func (r reading) Read(p []byte) (int, error) { return r(p) }
