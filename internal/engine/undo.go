package engine

import (
	"context"
	"errors"
	"time"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// Undoing names what to take back: exactly one of its first three fields.
type Undoing struct {
	Change      string
	Run         string
	ToTime      time.Time // everything recorded after
	Cascade     bool      // later changes of the same things are undone first
	Idempotency string
}

// Undo takes changes back by new ones, in one run that can itself be undone. Later
// changes of the same things are a Conflict, unless cascade takes them along.
func (e *Engine) Undo(ctx context.Context, owner memory.Owner, u Undoing, author memory.Author) (memory.Receipt, error) {
	named := 0
	for _, given := range []bool{u.Change != "", u.Run != "", !u.ToTime.IsZero()} {
		if given {
			named++
		}
	}
	if named != 1 {
		return memory.Receipt{}, memory.Errorf(memory.Invalid, "give one of change, run and to_time")
	}
	run := memory.Run{ID: idFor(owner, u.Idempotency), Kind: "undo", Author: author}
	done, err := e.done(ctx, owner, u.Idempotency)
	switch {
	case err != nil:
		return memory.Receipt{}, err
	case len(done) > 0:
		return receiptOf(done), nil
	}
	for try := 1; ; try++ {
		changes, err := e.undoing(ctx, owner, u, author)
		if err != nil {
			return memory.Receipt{}, err
		}
		if run.Vectors, err = e.factVectors(ctx, changes); err != nil {
			return memory.Receipt{}, err
		}
		receipt, err := e.Store.Apply(ctx, owner, run, changes...)
		if err == nil || !errors.Is(err, memory.Conflict) || try == maxConflicts {
			return receipt, err
		}
	}
}

func (e *Engine) undoing(ctx context.Context, owner memory.Owner, u Undoing, author memory.Author) ([]memory.Change, error) {
	targets, err := e.changes(ctx, owner, memory.ChangeQuery{ID: u.Change, Run: u.Run, After: u.ToTime})
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 && u.ToTime.IsZero() {
		return nil, memory.Errorf(memory.NotFound, "there is no change %q or run %q", u.Change, u.Run)
	}
	journal := targets
	if len(targets) > 0 && u.ToTime.IsZero() { // back to a time takes everything anyway
		first := targets[len(targets)-1]
		if journal, err = e.changes(ctx, owner, memory.ChangeQuery{After: first.At.Add(-time.Microsecond)}); err != nil {
			return nil, err
		}
	}
	return learn.Undo(targets, journal, u.Cascade, e.now(), author)
}

// changes returns all that a query selects of the journal, newest first.
func (e *Engine) changes(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) ([]memory.Change, error) {
	q.Limit = 500
	var all []memory.Change
	for {
		page, err := e.Store.Changes(ctx, owner, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Changes...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all, nil
		}
	}
}

// RetryJob lets a parked job run again.
func (e *Engine) RetryJob(ctx context.Context, owner memory.Owner, id string) error {
	if err := e.Store.Requeue(ctx, owner, id); err != nil {
		return err
	}
	e.Wake()
	return nil
}
