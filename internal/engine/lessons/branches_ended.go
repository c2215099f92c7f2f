package lessons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// endings lets facts follow a turn that ended them with nothing in their place: while
// it is off the path they are back, and on it they are gone. What somebody decided
// about since stays as it is.
func (e *Learner) endings(ctx context.Context, job memory.Job, t memory.Turn) error {
	ends, err := e.endedBy(ctx, t)
	if err != nil {
		return err
	}
	for _, end := range ends {
		err := core.Replan(ctx, func() error { return e.ending(ctx, job, t, end) })
		if err != nil && !errors.Is(err, memory.Duplicate) { // or else it was said again
			return err
		}
	}
	return nil
}

// ending lets a fact follow a turn that ended it: it comes back in the place of what it
// contradicts, or behind what was said since. [memory.Conflict]: somebody else wrote
// meanwhile.
func (e *Learner) ending(ctx context.Context, job memory.Job, t memory.Turn, end memory.Change) error {
	run := memory.Run{ID: core.IdFor(job.Owner, job.ID+" ends "+end.OldID)}
	var err error
	if run.Base, err = e.Compare.PlannedOn(ctx, *end.Before.Fact); err != nil {
		return err
	}
	f, err := e.Fact(ctx, job.Owner, end.OldID) // before who decided about it
	if err != nil {
		return err
	}
	was, err := e.LastChange(ctx, job.Owner, end.After.Target())
	if err != nil {
		return fmt.Errorf("read what became of %s: %w", end.OldID, err)
	}
	var changes []memory.Change
	switch {
	case t.Status == memory.Replaced && (was.ID == end.ID || was.Action == memory.ActionRetire && was.Author == core.ByDialog):
		stands, err := e.stands(ctx, *end.Before.Fact, nil)
		if err != nil || !stands { // its own message left as well
			return err
		}
		back := memory.Change{Action: memory.ActionRestore, After: end.Before, Base: f.Version, Reason: "the message that ended it was edited or regenerated"}
		if changes, err = e.returning(ctx, back, ""); err != nil {
			return err
		}
	case t.Status == memory.Active && was.Action == memory.ActionRestore && was.Author == core.ByDialog:
		gone := *end.After.Fact
		gone.UpdatedAt = e.Time()
		changes = []memory.Change{{Action: memory.ActionRetire, After: memory.Image{Fact: &gone}, Base: f.Version, Reason: "the chat went back to the message that ended it"}}
	default:
		return nil
	}
	return e.follow(ctx, job, run, changes)
}

// endedBy returns the changes by which facts were ended because of what a turn says
// and of nothing else that is on the path: those of the run that learned from it,
// whose time is the turn's LearnedAt, if that learned from no other turn that stays.
// What the user asked to be forgotten is not among them.
func (e *Learner) endedBy(ctx context.Context, t memory.Turn) ([]memory.Change, error) {
	if t.LearnedAt.IsZero() || t.Role != memory.RoleUser {
		return nil, nil
	}
	changes, err := e.AllChanges(ctx, t.Owner, memory.ChangeQuery{Action: memory.ActionRetire, After: t.LearnedAt.Add(-time.Microsecond)})
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
