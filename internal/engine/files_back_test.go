package engine

import (
	"context"
	"testing"

	"github.com/loci-memory/loci/internal/engine/files"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestWhatADeletedFileForgotIsBroughtBackOnce asks for it twice, and for what was forgotten by hand.
func TestWhatADeletedFileForgotIsBroughtBackOnce(t *testing.T) {
	onFiles(t, func(f *filing) {
		ctx := context.Background()
		fact := f.wrote("User plays chess")
		batch := memtest.Batch(ana, "c", 0, "I play chess")
		noError(f.t)(f.Store.Append(ctx, ana, batch))
		_, err := f.edit(memory.FileContent{Fact: &fact}, memory.FileContent{})
		f.must(err)
		for i, came := range []int{2, 0} {
			back := try(f.Files.RestoreFacts(ctx, ana, []files.FileEdit{{Stored: memory.FileContent{Fact: &fact}, Content: memory.FileContent{Fact: &fact}}}, "back")).orFail(f.t)
			if n := len(back); n != came/2 || n > 0 && (back[0].Restored != came || back[0].NotRestored > 0) {
				f.t.Errorf("the %d. time %+v came back", i+1, back)
			}
			turn, err := f.Get(ctx, ana, batch.Turns[0].ID)
			if err != nil || f.is(fact.ID).Status != memory.Active || turn.Status() != memory.Active {
				f.t.Errorf("the fact is %s, what was said %s, %v", f.is(fact.ID).Status, turn.Status(), err)
			}
		}
		noError(f.t)(f.Curate.Forget(ctx, ana, []string{fact.ID}, "asked", memory.Author{Kind: memory.ByPerson, Name: "ana"}))
		if back, err := f.Files.RestoreFacts(ctx, ana, []files.FileEdit{{Stored: memory.FileContent{Fact: &fact}, Content: memory.FileContent{Fact: &fact}}}, "again"); err != nil || len(back) > 0 || f.is(fact.ID).Status.Live() {
			f.t.Errorf("what was forgotten by hand came back: %+v, %v", back, err)
		}
	})
}
