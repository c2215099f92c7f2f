package compare

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// maxPendingRead bounds the pending facts that a recall reads.
const maxPendingRead = 100

// PendingReplacements returns the number of pending facts, and the pending replacements by the id of the
// active fact that they would replace.
func (e *Comparer) PendingReplacements(ctx context.Context, owner memory.Owner) (pendingCount int, replacements map[string]memory.Fact, err error) {
	page, err := e.Store.List(ctx, owner, memory.Query{Statuses: []memory.Status{memory.Pending}, Limit: maxPendingRead})
	if err != nil {
		return 0, nil, fmt.Errorf("list pending facts: %w", err)
	}
	for _, m := range page.Memories {
		if m.Link != nil || m.Fact == nil {
			continue
		}
		oldID, found := e.replacedIDs.Get(m.ID())
		if !found {
			proposal, err := e.PendingChange(ctx, owner, m)
			if err != nil {
				return 0, nil, err
			}
			if oldID = proposal.OldID; learn.IsReviewSetting(proposal.Reason) {
				oldID = "" // prompts do not show facts under review
			}
			e.replacedIDs.Set(m.ID(), oldID)
		}
		if oldID != "" {
			if replacements == nil {
				replacements = map[string]memory.Fact{}
			}
			replacements[oldID] = *m.Fact
		}
	}
	return len(page.Memories), replacements, nil
}

// PendingChange returns the change that made a fact pending, or the zero Change. It skips an undo that
// restored the fact, since an undo does not contain the reason.
func (e *Comparer) PendingChange(ctx context.Context, owner memory.Owner, m memory.Memory) (memory.Change, error) {
	target := memory.State{Fact: m.Fact}.Target()
	if m.Link != nil {
		target = memory.State{Link: m.Link}.Target()
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
