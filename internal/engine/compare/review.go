package compare

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/memory"
)

// Proposed returns the change that made a fact wait, the zero Change if the journal
// has none. An undo that brought it back there says nothing of why.
func (e *Comparer) Proposed(ctx context.Context, owner memory.Owner, m memory.Memory) (memory.Change, error) {
	target := memory.Image{Fact: m.Fact}.Target()
	if m.Link != nil {
		target = memory.Image{Link: m.Link}.Target()
	}
	changes, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Target: target})
	if err != nil {
		return memory.Change{}, fmt.Errorf("read why %s waits: %w", m.ID(), err)
	}
	for _, c := range changes {
		if c.Action != memory.ActionUndo && c.After.Status() == memory.Pending && c.Before.Status() != memory.Pending {
			return c, nil
		}
	}
	return memory.Change{}, nil
}
