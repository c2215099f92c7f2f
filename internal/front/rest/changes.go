package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/memory"
)

func (d *door) changeOperations(a adder) {
	operation(a, http.MethodGet, "/api/changes", "list-changes", "The journal, newest first", d.changes)
	operation(a, http.MethodGet, "/api/memory/{id}/history", "memory-history", "One memory's changes, newest first", d.history)
	operation(a, http.MethodPost, "/api/changes/undo", "undo-changes", "Take back a change, a run, or everything since a time", d.undo)
}

type changesInput struct {
	Fact   string        `query:"fact" doc:"Changes of this fact, or in which it replaced or was replaced."`
	Action memory.Action `query:"action" enum:"add,update,reinforce,replace,retire,restore,approve,reject,link,unlink,undo"`
	Run    string        `query:"run"`
	Limit  int           `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string        `query:"cursor"`
}

func (d *door) changes(ctx context.Context, in *changesInput) (*body[client.Changes], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	page, err := d.engine.Changes(ctx, owner, memory.ChangeQuery{Fact: in.Fact, Action: in.Action, Run: in.Run, Limit: in.Limit, Cursor: in.Cursor})
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
	out := client.Changes{Changes: []client.Change{}, Next: page.Next}
	for _, c := range page.Changes {
		out.Changes = append(out.Changes, client.ViewChange(c))
	}
	return answer(out), nil
}

type undoInput struct {
	Idempotent
	Body client.UndoRequest
}

func (d *door) undo(ctx context.Context, in *undoInput) (*body[client.Receipt], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	r, err := d.engine.Undo(ctx, owner, engine.Undoing{
		Change: in.Body.Change, Run: in.Body.Run, ToTime: timeOf(in.Body.ToTime), Cascade: in.Body.Cascade, Idempotency: in.Key,
	}, author)
	if err != nil {
		return nil, err
	}
	return answer(receipt(r)), nil
}
