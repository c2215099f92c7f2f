package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

type historyInput struct {
	ByID
	Cursor string `query:"cursor"`
}

func (d *handler) changeOperations(a adder) {
	owned(a, http.MethodGet, "/api/changes", "list-changes", "List the changes in the journal, newest first", func(ctx context.Context, by caller, in *client.ChangesQuery) (client.Changes, error) {
		return viewed(changePage)(d.engine.Changes(ctx, by.owner, memory.ChangeQuery{
			Fact: in.Fact, Action: in.Action, Run: in.Run, Runs: in.Runs, After: in.Since, Limit: in.Limit, Cursor: in.Cursor,
		}))
	})
	owned(a, http.MethodGet, "/api/memory/{id}/history", "memory-history", "List one memory's changes, newest first", func(ctx context.Context, by caller, in *historyInput) (client.Changes, error) {
		return viewed(changePage)(d.engine.History(ctx, by.owner, in.ID, in.Cursor))
	})
	owned(a, http.MethodPost, "/api/changes/undo", "undo-changes", "Undo a change, a run, or everything since a time", func(ctx context.Context, by caller, in *write[client.UndoRequest]) (out client.Undone, err error) {
		undone, err := d.engine.Curate.Undo(ctx, by.owner, curate.UndoRequest{
			Change: in.Body.Change, Run: in.Body.Run, ToTime: timeOf(in.Body.ToTime),
			Cascade: in.Body.Cascade, DryRun: in.Body.DryRun, Idempotency: in.Key,
		}, by.author)
		if err != nil {
			return out, err
		}
		out = client.Undone{Receipt: receipt(undone.Receipt), DryRun: in.Body.DryRun, Steps: changeViews(undone.Changes)}
		if len(undone.Later) > 0 {
			out.Later = changeViews(undone.Later)
		}
		return out, nil
	})
}

func changePage(page memory.ChangePage) client.Changes {
	return client.Changes{Changes: changeViews(page.Changes), Next: page.Next}
}

func changeViews(changes []memory.Change) []client.Change { return each(changes, client.ViewChange) }
