package traces

import (
	"context"
	"errors"
	"fmt"

	"github.com/loci-memory/loci/memory"
)

// EraseIDs erases what ids name, in the store and in the index.
func (e *Keeper) EraseIDs(ctx context.Context, owner memory.Owner, run memory.Run, ids []string) (memory.Receipt, error) {
	receipt, err := e.eraser().Erase(ctx, owner, run, ids...)
	if receipt.Changes > 0 || err != nil { // which may be half done
		e.tracing.Lock()
		e.forgetShown(owner)
		e.tracing.Unlock()
	}
	// Indexes keep words as well, in memory and on disk. Where one could not be told,
	// the store does: what it followed so far is gone.
	if d, ok := e.Searcher.(interface{ Drop(memory.Owner) error }); ok {
		err = errors.Join(err, d.Drop(owner))
	}
	if err != nil {
		return memory.Receipt{}, fmt.Errorf("erase: %w", err)
	}
	return receipt, nil
}

var ErrNoEraser = memory.Errorf(memory.Unavailable, "what is kept in this store cannot be erased by Loci: forget it, and remove its words from the files yourself")
