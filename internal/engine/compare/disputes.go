package compare

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// maxPendingRead bounds the pending facts that a recall reads.
const mostDisputes = 100

// PendingReplacements returns the number of pending facts, and the pending replacements by the id of the
// active fact that they would replace.
func (e *Comparer) Disputes(ctx context.Context, owner memory.Owner) (pending int, disputed map[string]memory.Fact, err error) {
	page, err := e.Store.List(ctx, owner, memory.Query{Statuses: []memory.Status{memory.Pending}, Limit: mostDisputes})
	if err != nil {
		return 0, nil, fmt.Errorf("list pending facts: %w", err)
	}
	for _, m := range page.Memories {
		if m.Link != nil || m.Fact == nil {
			continue
		}
		old, found := e.replacedIDs.Get(m.ID())
		if !found {
			why, err := e.Proposed(ctx, owner, m)
			if err != nil {
				return 0, nil, err
			}
			if old = why.OldID; learn.ByReview(why.Reason) {
				old = "" // prompts do not show facts under review
			}
			e.replacedIDs.Set(m.ID(), old)
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

// ProposalOf returns the change that made a fact pending, or the zero Change. It skips an undo that
// restored the fact, since an undo does not contain the reason.
func (e *Comparer) Proposed(ctx context.Context, owner memory.Owner, m memory.Memory) (memory.Change, error) {
	target := memory.Image{Fact: m.Fact}.Target()
	if m.Link != nil {
		target = memory.Image{Link: m.Link}.Target()
	}
	changes, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Target: target})
	if err != nil {
		return memory.Change{}, fmt.Errorf("read why %s is pending: %w", m.ID(), err)
	}
	for _, c := range changes {
		if c.Action != memory.ActionUndo && c.After.Status() == memory.Pending && c.Before.Status() != memory.Pending {
			return c, nil
		}
	}
	return memory.Change{}, nil
}
