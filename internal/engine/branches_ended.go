package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// endings lets facts follow a turn that ended them with nothing in their place: while
// it is off the path they are back, and on it they are gone. What somebody decided
// about since stays as it is.
func (e *Engine) endings(ctx context.Context, job memory.Job, t memory.Turn) error {
	ends, err := e.endedBy(ctx, t)
	if err != nil {
		return err
	}
	for _, end := range ends {
		page, err := e.Store.Changes(ctx, job.Owner, memory.ChangeQuery{Target: end.After.Target(), Limit: 1})
		if err != nil {
			return fmt.Errorf("read what became of %s: %w", end.OldID, err)
		}
		was := page.Changes[0]
		next, change := *end.Before.Fact, memory.Change{Action: memory.ActionRestore, Reason: "the message that ended it was edited or regenerated"}
		switch {
		case t.Status == memory.Replaced && (was.ID == end.ID || was.Action == memory.ActionRetire && was.Author == byDialog):
			if stands, err := e.stands(ctx, next, nil); err != nil {
				return err
			} else if !stands {
				continue // its own message left as well
			}
		case t.Status == memory.Active && was.Action == memory.ActionRestore && was.Author == byDialog:
			next = *end.After.Fact
			change = memory.Change{Action: memory.ActionRetire, Reason: "the chat went back to the message that ended it"}
		default:
			continue
		}
		next.UpdatedAt = e.now()
		change.After.Fact, change.Base = &next, was.Version
		run := idFor(job.Owner, job.ID+" ends "+next.ID)
		if err := e.follow(ctx, job, run, []memory.Change{change}); err != nil && !errors.Is(err, memory.Duplicate) { // or else it was said again
			return err
		}
	}
	return nil
}

// endedBy returns the changes by which facts were ended because of what a turn says
// and of nothing else that is on the path: those of the run that learned from it,
// whose time is the turn's LearnedAt, if that learned from no other turn that stays.
// What the user asked to be forgotten is not among them.
func (e *Engine) endedBy(ctx context.Context, t memory.Turn) ([]memory.Change, error) {
	if t.LearnedAt.IsZero() || t.Role != memory.RoleUser {
		return nil, nil
	}
	changes, err := e.changes(ctx, t.Owner, memory.ChangeQuery{Action: memory.ActionRetire, After: t.LearnedAt.Add(-time.Microsecond)})
	if err != nil {
		return nil, fmt.Errorf("read what ended: %w", err)
	}
	changes = slices.DeleteFunc(changes, func(c memory.Change) bool {
		return !c.At.Equal(t.LearnedAt) || c.After.Fact == nil || c.Before.Fact == nil || c.OldID != c.After.Fact.ID || c.NewID != ""
	})
	if len(changes) == 0 {
		return nil, nil
	}
	beside, err := e.Store.Turns(ctx, t.Owner, memory.TurnQuery{Conversation: t.Conversation})
	if err != nil {
		return nil, fmt.Errorf("read what was learned with it: %w", err)
	}
	if slices.ContainsFunc(beside, func(b memory.Turn) bool {
		return b.ID != t.ID && b.Role == memory.RoleUser && b.LearnedAt.Equal(t.LearnedAt)
	}) {
		return nil, nil
	}
	return changes, nil
}
