package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// undoView shows what an undo would do, and the later changes that it would undo too.
type undoView struct {
	Change, Run, To string          // id of a change, id of a run, or the time to go back to; the others are ""
	Back            string          // path of the page to which the form returns
	Steps, Later    []client.Change // changes that undo, and later changes that would be undone too
}

func (p *Page) undoPreview(r *http.Request, v visit) (any, error) {
	view := undoView{Change: r.FormValue("change"), Run: r.FormValue("run"), To: r.FormValue("to"), Back: localPath(r.FormValue("back"))}
	u, err := parseUndo(view.Change, view.Run, view.To)
	if err != nil {
		return nil, err
	}
	u.DryRun = true
	preview, err := p.engine.Curate.Undo(r.Context(), v.owner, u, v.author)
	if err != nil {
		return nil, err
	}
	view.Steps, view.Later = changeViews(preview.Changes), changeViews(preview.Later)
	return view, nil
}

// undoChanges undoes a change, all changes since a time, or runs, the last run first. If later changes conflict with
// the undo, the user is asked whether to undo these changes too.
func (p *Page) undoChanges(r *http.Request, v visit) (formResult, error) {
	runs := r.PostForm["run"]
	if len(runs) == 0 {
		runs = []string{""}
	}
	if len(runs) > listPageSize+maxHits {
		return formResult{}, memory.Errorf(memory.Invalid, "undo at most %d runs at a time", listPageSize+maxHits)
	}
	d := formResult{Message: "Undone."}
	for _, run := range slices.Backward(runs) {
		u, err := parseUndo(r.PostFormValue("change"), run, r.PostFormValue("to"))
		if err != nil {
			return formResult{}, err
		}
		u.Cascade = r.PostFormValue("cascade") != ""
		undone, err := p.engine.Curate.Undo(r.Context(), v.owner, u, v.author)
		if errors.Is(err, memory.Conflict) && !u.Cascade && len(runs) == 1 {
			return formResult{to: "/undo?" + url.Values{"change": {u.ChangeID}, "run": {u.RunID}, "to": {r.PostFormValue("to")}, "back": {localPath(r.PostFormValue("back"))}}.Encode()}, nil
		}
		if err != nil {
			return formResult{}, err
		}
		d.Runs = append(d.Runs, undone.Run)
	}
	return d, nil
}

func parseUndo(change, run, to string) (curate.UndoRequest, error) {
	u := curate.UndoRequest{ChangeID: change, RunID: run}
	if to != "" {
		t, err := time.Parse(time.RFC3339Nano, to)
		if err != nil {
			return u, memory.Errorf(memory.Invalid, "%q is not a valid time", clip(30, to))
		}
		u.ToTime = t
	}
	return u, nil
}

func changeViews(in []memory.Change) []client.Change {
	out := make([]client.Change, 0, len(in))
	for _, c := range in {
		out = append(out, client.ViewChange(c))
	}
	return out
}
