package engine

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// TestByHandReplacesOnlyWhatContradicts writes the pairs of testdata/by_hand_pairs.txt.
func TestByHandReplacesOnlyWhatContradicts(t *testing.T) {
	pairs := string(try(os.ReadFile("testdata/by_hand_pairs.txt")).orFail(t))
	for _, line := range strings.Split(strings.TrimSpace(pairs), "\n")[1:] {
		r, pair := newRig(t, stores["inmem"]), strings.Split(line, " | ")
		first := r.note(t, ana, pair[1])
		r.clock.Advance(time.Minute)
		noError(t)(r.Curate.Remember(t.Context(), ana, curate.FactInput{Content: pair[2]}, her))
		if was := try(r.Fact(t.Context(), ana, first.ID)).orFail(t); (was.Status == memory.Active) != (pair[0] == "both") {
			t.Errorf("%q is %s after %q; want that %s holds", pair[1], was.Status, pair[2], pair[0])
		}
	}
}
