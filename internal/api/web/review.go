package web

import (
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

const pendingPageSize = 20

// reviewView lists the facts that wait for a decision.
type reviewView struct {
	Here    string // path and query of this view
	Waiting []client.Waiting
	Editing string // id of the fact that is open for editing
	Total   int    // number of facts that wait
	Next    string // cursor of the next page
}

func (p *Page) reviewView(r *http.Request, v visit) (any, error) {
	page, err := p.engine.Curate.PendingFacts(r.Context(), v.owner, pendingPageSize, r.FormValue("cursor"))
	if err != nil {
		return nil, err
	}
	counts, err := p.engine.Stats(r.Context(), v.owner)
	if err != nil {
		return nil, err
	}
	view := reviewView{Here: viewURL(r), Editing: r.FormValue("edit"), Total: counts.Pending, Next: page.Next}
	for _, w := range page.Facts {
		one := client.ViewWaiting(w.Memory, w.Turn, w.Conflicts)
		one.Reason, one.Author = w.Reason, w.Author
		view.Waiting = append(view.Waiting, one)
	}
	return view, nil
}

// judgeFacts decides on the selected facts in one run. A decision on a single fact can also change the fact's text.
func (p *Page) judgeFacts(r *http.Request, v visit) (formResult, error) {
	action := memory.Action(r.PostFormValue("do"))
	ids := r.PostForm["id"]
	if len(ids) == 0 {
		return formResult{Message: "Nothing was selected."}, nil
	}
	var all []curate.Judgement
	for _, id := range ids {
		all = append(all, curate.Judgement{ID: id, Action: action, SeenText: r.PostFormValue("seen-" + id)})
	}
	if words := formField(r, "content"); words != nil && len(all) == 1 {
		all[0].Content = *words
	}
	return p.applyJudgements(r, v, all...)
}

func (p *Page) applyJudgements(r *http.Request, v visit, judgements ...curate.Judgement) (formResult, error) {
	judged, receipt, err := p.engine.Curate.Judge(r.Context(), v.owner, judgements, "", v.author)
	if err != nil {
		return formResult{}, err
	}
	d := formResult{Message: plural(len(judged), "fact") + " " + actionNames[judgements[0].Action] + ".", Runs: []string{receipt.Run}}
	if len(judged) == 1 {
		d.Message = capitalize(actionNames[judgements[0].Action]) + ": " + clip(60, judged[0].Content())
	}
	return d, nil
}

// capitalize capitalizes an English word in lower case.
func capitalize(s string) string {
	if s == "" {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}
