package compare

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// mostDisputes is how many waiting facts a recall looks at.
const mostDisputes = 100

// Disputes returns how many facts wait for a person, and those that would replace an active
// fact, by its id.
func (e *Comparer) Disputes(ctx context.Context, owner memory.Owner) (pending int, disputed map[string]memory.Fact, err error) {
	page, err := e.Store.List(ctx, owner, memory.Query{Statuses: []memory.Status{memory.Pending}, Limit: mostDisputes})
	if err != nil {
		return 0, nil, fmt.Errorf("list what waits: %w", err)
	}
	for _, m := range page.Memories {
		if m.Link != nil || m.Fact == nil {
			continue
		}
		old, known := e.instead.Get(m.ID())
		if !known {
			why, err := e.Proposed(ctx, owner, m)
			if err != nil {
				return 0, nil, err
			}
			if old = why.OldID; learn.ByReview(why.Reason) {
				old = "" // what waits for review is in no prompt
			}
			e.instead.Set(m.ID(), old)
		}
		if old != "" {
			if disputed == nil {
				disputed = map[string]memory.Fact{}
			}
			disputed[old] = *m.Fact
		}
	}
	return len(page.Memories), disputed, nil
}

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
