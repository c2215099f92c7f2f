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
	ChangeID       string    // id of the change to undo
	RunID          string    // id of the run to undo
	ToTime         time.Time // undo all changes recorded after this time
	Cascade        bool      // also undo later changes of the same targets
	DryRun         bool      // return the planned changes without applying them
	IdempotencyKey string
}

// UndoResult is the result of an undo or a dry run.
type UndoResult struct {
	memory.Receipt                 // zero in a dry run
	Changes        []memory.Change // in order of application
	// Later are the later changes of the same targets, newest first; only a dry run sets them. Cascade
	// undoes them too; without Cascade they cause a Conflict.
	Later []memory.Change
}

// Undo reverts changes by new changes, in one run that can itself be undone. Later changes of the same
// memories cause a Conflict, unless Cascade reverts them too.
//
// Three kinds of changes cannot be undone and cause a Conflict: erasures, sharing, and closing or opening an
// owner. An undo with ToTime skips them, and changes made only because a chat switched branches.
func (e *Curator) Undo(ctx context.Context, owner memory.Owner, req UndoRequest, author memory.Author) (UndoResult, error) {
	ctx = memory.ForWrite(ctx)
	criteria := 0
	for _, isSet := range []bool{req.ChangeID != "", req.RunID != "", !req.ToTime.IsZero()} {
		if isSet {
			criteria++
		}
	}
	if criteria != 1 {
		return UndoResult{}, memory.Errorf(memory.Invalid, "set exactly one of change, run and to_time")
	}
	run := memory.Run{ID: core.IDForKey(owner, req.IdempotencyKey), Kind: "undo", Author: author}
	earlier, err := e.ChangesByKey(ctx, owner, req.IdempotencyKey)
	switch {
	case err != nil:
		return UndoResult{}, err
	case len(earlier) > 0:
		r := receiptOf(earlier)
		slices.Reverse(earlier)
		return UndoResult{Receipt: r, Changes: earlier}, nil
	}
	var plan UndoResult
	err = core.RetryOnConflict(ctx, func() error {
		if plan, err = e.planUndo(ctx, owner, req, author); err != nil || req.DryRun {
			return core.Permanent(err)
		}
		if run.Vectors, err = e.FactVectors(ctx, plan.Changes); err != nil {
			return err
		}
		plan.Receipt, err = e.Store.Apply(ctx, owner, run, plan.Changes...)
		return err
	})
	switch {
	case err != nil:
		return UndoResult{}, err
	case req.DryRun:
		return plan, nil
	}
	changes, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Run: run.ID})
	slices.Reverse(changes)
	return UndoResult{Receipt: plan.Receipt, Changes: changes}, err
}

func (e *Curator) planUndo(ctx context.Context, owner memory.Owner, req UndoRequest, author memory.Author) (UndoResult, error) {
	undone, err := e.AllChanges(ctx, owner, memory.ChangeQuery{ID: req.ChangeID, Run: req.RunID, After: req.ToTime})
	if err != nil {
		return UndoResult{}, err
	}
	if len(undone) == 0 && req.ToTime.IsZero() {
		return UndoResult{}, memory.Errorf(memory.NotFound, "there is no change or run %q", req.ChangeID+req.RunID)
	}
	journal := undone
	if len(undone) > 0 && req.ToTime.IsZero() { // ToTime already selects all later changes
		first := undone[len(undone)-1]
		if journal, err = e.AllChanges(ctx, owner, memory.ChangeQuery{After: first.At.Add(-time.Microsecond)}); err != nil {
			return UndoResult{}, err
		}
	}
	erasedTargets := map[string]bool{}
	for _, c := range journal {
		if c.Action == memory.ActionErase {
			erasedTargets[c.After.Target()] = true
		}
	}
	if req.ToTime.IsZero() {
		if err = checkUndoable(undone); err == nil {
			err = checkErased(undone, erasedTargets)
		}
	} else {
		undone = undoableChanges(withoutRefused(undone), erasedTargets)
		journal = undone
	}
	if err != nil {
		return UndoResult{}, err
	}
	changes, err := learn.Undo(undone, journal, req.Cascade || req.DryRun, e.Time(), author)
	if err != nil {
		return UndoResult{}, err
	}
	if err := checkErased(changes, erasedTargets); err != nil {
		return UndoResult{}, err
	}
	current := map[string]memory.State{} // current state by target
	for _, c := range slices.Backward(journal) {
		current[c.After.Target()] = c.After
	}
	for i := range changes {
		changes[i].Before = current[changes[i].After.Target()]
	}
	return UndoResult{Changes: changes, Later: LaterChanges(undone, journal)}, nil
}

// checkUndoable returns a [memory.Conflict] for changes of sharing or of an owner's closing. Other users may
// already depend on these changes, and an undo does not check the permissions that they need.
func checkUndoable(changes []memory.Change) error {
	for _, c := range changes {
		switch p := c.After.Profile; {
		case p == nil:
		case p.Key == core.ClosedKey:
			return memory.Errorf(memory.Conflict, "erasing or reopening a user cannot be undone; to allow writes after an erasure, reopen the user")
		case strings.HasPrefix(p.Key, share.ShareKeyPrefix):
			return memory.Errorf(memory.Conflict, "sharing of %s cannot be undone: share it again, or stop sharing it", strings.TrimPrefix(p.Key, share.ShareKeyPrefix))
		}
	}
	return nil
}

// withoutRefused removes the changes for which [checkUndoable] returns an error. If the owner was closed or
// opened, it also removes the change of the owner's pause, which was part of closing or opening.
func withoutRefused(changes []memory.Change) []memory.Change {
	reopened := slices.ContainsFunc(changes, func(c memory.Change) bool { return c.After.Profile != nil && c.After.Profile.Key == core.ClosedKey })
	return slices.DeleteFunc(changes, func(c memory.Change) bool {
		return checkUndoable([]memory.Change{c}) != nil || reopened && c.After.Profile != nil && c.After.Profile.Key == core.PauseKey
	})
}

// checkErased returns a [memory.Conflict] for changes of an erased memory. A memory also counts as erased if
// its erasure stopped after the journal's text was removed: see [memory.Eraser].
func checkErased(changes []memory.Change, erasedTargets map[string]bool) error {
	for _, c := range changes {
		f := c.After.Fact
		if target := c.After.Target(); erasedTargets[target] || f != nil && f.Content == "" {
			return core.ErrErased(target)
		}
	}
	return nil
}

// undoableChanges removes changes of erased memories, and of memories that changed only because a chat
// switched branches: the chat stays on its current branch.
func undoableChanges(changes []memory.Change, erasedTargets map[string]bool) []memory.Change {
	changedOtherwise := map[string]bool{}
	for _, c := range changes {
		if target := c.After.Target(); c.Author != core.ByBranchSwitch && !erasedTargets[target] {
			changedOtherwise[target] = true
		}
	}
	return slices.DeleteFunc(changes, func(c memory.Change) bool {
		target := c.After.Target()
		return erasedTargets[target] || !changedOtherwise[target]
	})
}

// LaterChanges returns the changes in journal (newest first) that were made to the targets of undone after
// those changes. Both facts of a replacement count as one target.
func LaterChanges(undone, journal []memory.Change) []memory.Change {
	if len(undone) == len(journal) {
		return nil
	}
	targetChanges, targetNames := map[string]bool{}, map[string]bool{}
	for _, c := range undone {
		targetChanges[c.ID], targetNames[c.After.Target()] = true, true
		if c.OldID == "" || c.NewID == "" {
			continue
		}
		for _, other := range journal {
			if other.Run == c.Run && other.OldID != "" && other.NewID == c.NewID {
				targetChanges[other.ID], targetNames[other.After.Target()] = true, true
			}
		}
	}
	var out []memory.Change
	for _, c := range journal {
		switch {
		case c.ID == undone[len(undone)-1].ID:
			return out
		case !targetChanges[c.ID] && targetNames[c.After.Target()]:
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
	e.WakeJobRunner()
	return nil
}
