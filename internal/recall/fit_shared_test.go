package recall

import (
	"testing"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestOwnFactDoesNotGiveWayToASharedOne(t *testing.T) {
	own := memtest.Fact(memtest.Ana, "The backend of the shop runs on Bun")
	theirs := memtest.Fact(memtest.Ben, "The backend of the shop runs on Bun")
	link := memtest.Link(memtest.Ana, theirs)
	shared := memory.Hit{Memory: memory.Memory{Fact: &link.Fact, Link: &link}, Score: 0.9}
	mine := memory.Hit{Memory: memory.Memory{Fact: &own}, Score: 0.8}
	if kept, _ := Fit([]memory.Hit{shared, mine}, FitOptions{}); len(kept) != 2 || kept[1].Memory.Fact.ID != own.ID {
		t.Errorf("kept %v, want the user's own beside the shared one", kept)
	}
	if kept, _ := Fit([]memory.Hit{mine, shared}, FitOptions{}); len(kept) != 1 || kept[0].Memory.Fact.ID != own.ID {
		t.Errorf("kept %v, want the user's own alone", kept)
	}
}
