package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// byDialog is who decides that a turn left the path, or came back to it.
var byDialog = memory.Author{Kind: memory.ByRule, Name: "dialog"}

// rebranch lets facts follow their turns: what an edited message or a regenerated
// answer had taught is taken back, with what it replaced, and comes again with it.
// What rests on other turns too, or was changed since, stays.
func (e *Engine) rebranch(ctx context.Context, job memory.Job) error {
	if len(job.Turns) < 2 { // the first is what the job learns from
		return nil
	}
	turns, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{
		Conversation: job.Conversation, IDs: job.Turns[1:], Statuses: []memory.Status{memory.Active, memory.Replaced},
	})
	if err != nil {
		return fmt.Errorf("read turns that left or came back: %w", err)
	}
	for _, t := range turns {
		follow := e.leaveWith
		if t.Status == memory.Active {
			follow = e.returnWith
		}
		if err := follow(ctx, job, t); err != nil && !errors.Is(err, memory.Conflict) {
			return fmt.Errorf("follow turn %s: %w", t.ID, err)
		}
	}
	return nil
}

// taughtBy returns an owner's own facts that name a turn and have one of the
// statuses.
func (e *Engine) taughtBy(ctx context.Context, t memory.Turn, statuses ...memory.Status) ([]memory.Fact, error) {
	var out []memory.Fact
	err := e.everything(ctx, t.Owner, memory.Query{Turn: t.ID, Statuses: statuses}, func(m memory.Memory) {
		if m.Link == nil {
			out = append(out, *m.Fact)
		}
	})
	return out, err
}

// leaveWith takes back what only a turn that left has taught.
func (e *Engine) leaveWith(ctx context.Context, job memory.Job, t memory.Turn) error {
	facts, err := e.taughtBy(ctx, t, memory.Active, memory.Pending)
	if err != nil {
		return err
	}
	for _, f := range facts {
		others := slices.DeleteFunc(slices.Clone(f.Provenance.Turns), func(id string) bool { return id == t.ID })
		if f.Source != memory.Extracted || len(others) > 0 {
			continue
		}
		changes, err := e.changes(ctx, job.Owner, memory.ChangeQuery{Fact: f.ID, Action: memory.ActionAdd})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(changes, func(c memory.Change) bool { return c.After.Target() == "fact:"+f.ID })
		if i < 0 {
			continue
		}
		u := Undoing{Change: changes[i].ID, Idempotency: job.ID + " leaves " + f.ID}
		if _, err := e.Undo(ctx, job.Owner, u, byDialog); err != nil && !errors.Is(err, memory.Conflict) {
			return err
		}
	}
	return nil
}

// returnWith brings back what had left with a turn.
func (e *Engine) returnWith(ctx context.Context, job memory.Job, t memory.Turn) error {
	facts, err := e.taughtBy(ctx, t, memory.Retired)
	if err != nil {
		return err
	}
	for _, f := range facts {
		page, err := e.Store.Changes(ctx, job.Owner, memory.ChangeQuery{Target: "fact:" + f.ID, Limit: 1})
		if err != nil {
			return err
		}
		if len(page.Changes) == 0 || page.Changes[0].Author != byDialog {
			continue // somebody decided that since
		}
		u := Undoing{Run: page.Changes[0].Run, Idempotency: job.ID + " returns " + f.ID}
		if _, err := e.Undo(ctx, job.Owner, u, byDialog); err != nil && !errors.Is(err, memory.Conflict) {
			return err
		}
	}
	return nil
}
