package curate

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// UndoRequest selects what to undo by exactly one of Change, Run and ToTime.
type UndoRequest struct {
	Change      string
	Run         string
	ToTime      time.Time // undo all changes recorded later
	Cascade     bool      // also undo later changes of the same targets
	DryRun      bool      // return the planned changes without applying them
	Idempotency string
}

// UndoResult is the result of an undo or a dry run.
type Undone struct {
	memory.Receipt                 // zero in a dry run
	Changes        []memory.Change // in order of application
	// Later are the later changes of the same targets, newest first; only a dry run sets them. Cascade
	// undoes them too; without Cascade they cause a Conflict.
	Later []memory.Change
}

// Undo reverts changes by new changes, in one run that can itself be undone. Later changes of the
// same targets cause a Conflict, unless Cascade reverts them too.
//
// Three kinds of changes cannot be undone: erasures, sharing, and closing or opening an owner. They cause
// a Conflict. ToTime skips them, together with the changes that only followed a chat's branch.
func (e *Curator) Undo(ctx context.Context, owner memory.Owner, u UndoRequest, author memory.Author) (Undone, error) {
	ctx = memory.ForWrite(ctx)
	named := 0
	for _, supplied := range []bool{u.Change != "", u.Run != "", !u.ToTime.IsZero()} {
		if supplied {
			named++
		}
	}
	if named != 1 {
		return Undone{}, memory.Errorf(memory.Invalid, "set exactly one of change, run and to_time")
	}
	run := memory.Run{ID: core.IDFor(owner, u.Idempotency), Kind: "undo", Author: author}
	done, err := e.ChangesByKey(ctx, owner, u.Idempotency)
	switch {
	case err != nil:
		return Undone{}, err
	case len(done) > 0:
		r := receiptOf(done)
		slices.Reverse(done)
		return Undone{Receipt: r, Changes: done}, nil
	}
	var plan Undone
	err = core.Replan(ctx, func() error {
		if plan, err = e.undoing(ctx, owner, u, author); err != nil || u.DryRun {
			return core.Lasting(err)
		}
		if run.Vectors, err = e.FactVectors(ctx, plan.Changes); err != nil {
			return err
		}
		plan.Receipt, err = e.Store.Apply(ctx, owner, run, plan.Changes...)
		return err
	})
	switch {
	case err != nil:
		return Undone{}, err
	case u.DryRun:
		return plan, nil
	}
	changes, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Run: run.ID})
	slices.Reverse(changes)
	return Undone{Receipt: plan.Receipt, Changes: changes}, err
}

func (e *Curator) undoing(ctx context.Context, owner memory.Owner, u UndoRequest, author memory.Author) (Undone, error) {
	targets, err := e.AllChanges(ctx, owner, memory.ChangeQuery{ID: u.Change, Run: u.Run, After: u.ToTime})
	if err != nil {
		return Undone{}, err
	}
	if len(targets) == 0 && u.ToTime.IsZero() {
		return Undone{}, memory.Errorf(memory.NotFound, "there is no change or run %q", u.Change+u.Run)
	}
	journal := targets
	if len(targets) > 0 && u.ToTime.IsZero() { // ToTime already selects all later changes
		first := targets[len(targets)-1]
		if journal, err = e.AllChanges(ctx, owner, memory.ChangeQuery{After: first.At.Add(-time.Microsecond)}); err != nil {
			return Undone{}, err
		}
	}
	erased := map[string]bool{}
	for _, c := range journal {
		if c.Action == memory.ActionErase {
			erased[c.After.Target()] = true
		}
	}
	if u.ToTime.IsZero() {
		if err = notUndone(targets); err == nil {
			err = checkErased(targets, erased)
		}
	} else {
		targets = undoableChanges(withoutRefused(targets), erased)
		journal = targets
	}
	if err != nil {
		return Undone{}, err
	}
	changes, err := learn.Undo(targets, journal, u.Cascade || u.DryRun, e.Time(), author)
	if err != nil {
		return Undone{}, err
	}
	if err := checkErased(changes, erased); err != nil {
		return Undone{}, err
	}
	now := map[string]memory.Image{} // current state by target
	for _, c := range slices.Backward(journal) {
		now[c.After.Target()] = c.After
	}
	for i := range changes {
		changes[i].Before = now[changes[i].After.Target()]
	}
	return Undone{Changes: changes, Later: Later(targets, journal)}, nil
}

// checkUndoable returns a [memory.Conflict] for changes of sharing or of an owner's closing. Other users
// may already depend on these changes, and only separate methods check their permissions.
func notUndone(changes []memory.Change) error {
	for _, c := range changes {
		switch p := c.After.Profile; {
		case p == nil:
		case p.Key == core.ClosedKey:
			return memory.Errorf(memory.Conflict, "erasing or opening a user cannot be undone: open or erase the user instead")
		case strings.HasPrefix(p.Key, share.SharedKeys):
			return memory.Errorf(memory.Conflict, "sharing of %s cannot be undone: share it again, or stop sharing it", strings.TrimPrefix(p.Key, share.SharedKeys))
		}
	}
	return nil
}

// withoutRefused removes the changes that [checkUndoable] refuses. If the owner was closed or opened, it
// also removes the change of the owner's pause, which was part of closing or opening.
func withoutRefused(changes []memory.Change) []memory.Change {
	reopened := slices.ContainsFunc(changes, func(c memory.Change) bool { return c.After.Profile != nil && c.After.Profile.Key == core.ClosedKey })
	return slices.DeleteFunc(changes, func(c memory.Change) bool {
		return notUndone([]memory.Change{c}) != nil || reopened && c.After.Profile != nil && c.After.Profile.Key == core.PauseKey
	})
}

// checkErased returns a [memory.Conflict] for changes of an erased memory, including one with an
// interrupted erasure, which removed only the journal's text: see [memory.Eraser].
func checkErased(changes []memory.Change, erased map[string]bool) error {
	for _, c := range changes {
		f := c.After.Fact
		if target := c.After.Target(); erased[target] || f != nil && f.Content == "" {
			return core.ErrErased(target)
		}
	}
	return nil
}

// undoableChanges removes changes of erased memories, and of memories that only followed a chat's
// branch, since the chat continues from its current state.
func undoableChanges(changes []memory.Change, erased map[string]bool) []memory.Change {
	decided := map[string]bool{}
	for _, c := range changes {
		if target := c.After.Target(); c.Author != core.ByDialog && !erased[target] {
			decided[target] = true
		}
	}
	return slices.DeleteFunc(changes, func(c memory.Change) bool {
		target := c.After.Target()
		return erased[target] || !decided[target]
	})
}

// LaterChanges returns the changes of a journal, newest first, that follow targets and have the same
// targets. Both facts of a replacement count as one target.
func Later(targets, journal []memory.Change) []memory.Change {
	if len(targets) == len(journal) {
		return nil
	}
	ours, things := map[string]bool{}, map[string]bool{}
	for _, c := range targets {
		ours[c.ID], things[c.After.Target()] = true, true
		if c.OldID == "" || c.NewID == "" {
			continue
		}
		for _, other := range journal {
			if other.Run == c.Run && other.OldID != "" && other.NewID == c.NewID {
				ours[other.ID], things[other.After.Target()] = true, true
			}
		}
	}
	var out []memory.Change
	for _, c := range journal {
		switch {
		case c.ID == targets[len(targets)-1].ID:
			return out
		case !ours[c.ID] && things[c.After.Target()]:
			out = append(out, c)
		}
	}
	return out
}

// RetryJob queues a parked job again.
func (e *Curator) RetryJob(ctx context.Context, owner memory.Owner, id string) error {
	if err := e.Store.Requeue(ctx, owner, id); err != nil {
		return err
	}
	e.Wake()
	return nil
}
