package index

import (
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestErasedWordsLeaveTheFiles erases from a source that others erase from, too: whether
// the index is told of whom or only that it may have missed something, the checkpoint goes,
// and no other.
func TestErasedWordsLeaveTheFiles(t *testing.T) {
	for why, c := range map[string]struct {
		resident bool
		told     memory.Owner
	}{
		"told of whom":                {true, "default/user/ana"},
		"may have missed it":          {true, ""},
		"was down, and told of whom":  {false, "default/user/ana"},
		"was down, and may have been": {false, ""},
	} {
		t.Run(why, func(t *testing.T) {
			src, dir, p := newSource(), t.TempDir(), newPlayer(1)
			for range 60 {
				p.step(src)
			}
			ix := openAt(src, dir, 0)
			for owner := range src.owners {
				noError(t)(ix.Search(t.Context(), everything(owner)))
			}
			noError(t)(ix.Close())
			all := len(files(t, dir, checkpointSuffix))
			if all != len(src.owners) || all < 2 {
				t.Fatalf("got %d files of %d owners", all, len(src.owners))
			}
			ix = openAt(src, dir, 0)
			defer ix.Close() //nolint:errcheck // it never fails
			if c.resident {
				noError(t)(ix.Search(t.Context(), everything("default/user/ana")))
			}
			if ix.dropErased(""); len(files(t, dir, checkpointSuffix)) != all {
				t.Errorf("before: got %d files, want all %d", len(files(t, dir, checkpointSuffix)), all)
			}
			h := src.owners["default/user/ana"]
			h.version++
			src.erased["default/user/ana"] = h.version
			if ix.dropErased(c.told); len(files(t, dir, checkpointSuffix)) != all-1 {
				t.Errorf("after: got %d files, want %d", len(files(t, dir, checkpointSuffix)), all-1)
			}
			if ix.entries["default/user/ana"] != nil {
				t.Error("it is still in memory")
			}
		})
	}
}
