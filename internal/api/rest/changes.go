package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

func (d *door) changeOperations(a adder) {
	operation(a, http.MethodGet, "/api/changes", "list-changes", "The journal, newest first", d.changes)
	operation(a, http.MethodGet, "/api/memory/{id}/history", "memory-history", "One memory's changes, newest first", d.history)
	operation(a, http.MethodPost, "/api/changes/undo", "undo-changes", "Take back a change, a run, or everything since a time", d.undo)
}

func (d *door) changes(ctx context.Context, in *client.ChangesQuery) (*body[client.Changes], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	page, err := d.engine.Changes(ctx, owner, memory.ChangeQuery{
		Fact: in.Fact, Action: in.Action, Run: in.Run, Runs: in.Runs, After: in.Since, Limit: in.Limit, Cursor: in.Cursor,
	})
	return changePage(page, err)
}

type historyInput struct {
	ByID
	Cursor string `query:"cursor"`
}

func (d *door) history(ctx context.Context, in *historyInput) (*body[client.Changes], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	page, err := d.engine.History(ctx, owner, in.ID, in.Cursor)
	return changePage(page, err)
}

func changePage(page memory.ChangePage, err error) (*body[client.Changes], error) {
	if err != nil {
		return nil, err
	}
	return answer(client.Changes{Changes: changeViews(page.Changes), Next: page.Next}), nil
}

func changeViews(changes []memory.Change) []client.Change {
	out := make([]client.Change, 0, len(changes))
	for _, c := range changes {
		out = append(out, client.ViewChange(c))
	}
	return out
}

type undoInput struct {
	Idempotent
	Body client.UndoRequest
}

func (d *door) undo(ctx context.Context, in *undoInput) (*body[client.Undone], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	undone, err := d.engine.Curate.Undo(ctx, owner, curate.UndoRequest{
		Change: in.Body.Change, Run: in.Body.Run, ToTime: timeOf(in.Body.ToTime),
		Cascade: in.Body.Cascade, DryRun: in.Body.DryRun, Idempotency: in.Key,
	}, author)
	if err != nil {
		return nil, err
	}
	out := client.Undone{Receipt: receipt(undone.Receipt), DryRun: in.Body.DryRun, Steps: changeViews(undone.Changes)}
	if len(undone.Later) > 0 {
		out.Later = changeViews(undone.Later)
	}
	return answer(out), nil
}
