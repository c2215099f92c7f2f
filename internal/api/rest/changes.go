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

func (d *handler) addChangeOperations(a registrar) {
	registerForCaller(a, http.MethodGet, "/api/changes", "list-changes", "List the changes in the journal, newest first", func(ctx context.Context, by caller, in *client.ChangesQuery) (client.Changes, error) {
		return mapResult(changePageView)(d.engine.Changes(ctx, by.owner, memory.ChangeQuery{
			Fact: in.Fact, Action: in.Action, Run: in.Run, RunPrefix: in.RunPrefix, After: in.Since, Limit: in.Limit, Cursor: in.Cursor,
		}))
	})
	registerForCaller(a, http.MethodGet, "/api/memory/{id}/history", "memory-history", "List one memory's changes, newest first", func(ctx context.Context, by caller, in *historyInput) (client.Changes, error) {
		return mapResult(changePageView)(d.engine.History(ctx, by.owner, in.ID, in.Cursor))
	})
	registerForCaller(a, http.MethodPost, "/api/changes/undo", "undo-changes", "Undo a change, a run, or everything since a time", func(ctx context.Context, by caller, in *writeRequest[client.UndoRequest]) (out client.Undone, err error) {
		undone, err := d.engine.Curate.Undo(ctx, by.owner, curate.UndoRequest{
			ChangeID: in.Body.Change, RunID: in.Body.Run, ToTime: timeOrZero(in.Body.ToTime),
			Cascade: in.Body.Cascade, DryRun: in.Body.DryRun, IdempotencyKey: in.Key,
		}, by.author)
		if err != nil {
			return out, err
		}
		out = client.Undone{Receipt: receiptView(undone.Receipt), DryRun: in.Body.DryRun, Steps: changeViews(undone.Changes)}
		if len(undone.Later) > 0 {
			out.Later = changeViews(undone.Later)
		}
		return out, nil
	})
}

func changePageView(page memory.ChangePage) client.Changes {
	return client.Changes{Changes: changeViews(page.Changes), Next: page.Next}
}

func changeViews(changes []memory.Change) []client.Change {
	return mapSlice(changes, client.ViewChange)
}
