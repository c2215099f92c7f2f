package web

import (
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// pendingPageSize is the maximum number of pending facts on a page.
const waitingAtOnce = 20

// reviewView lists the facts that wait for a decision.
type reviewView struct {
	Here    string
	Waiting []client.Waiting
	Editing string // id of the fact that is open for editing
	Total   int
	Next    string
}

func (p *Page) review(r *http.Request, v visit) (any, error) {
	page, err := p.engine.Curate.Waiting(r.Context(), v.owner, waitingAtOnce, r.FormValue("cursor"))
	if err != nil {
		return nil, err
	}
	counts, err := p.engine.Stats(r.Context(), v.owner)
	if err != nil {
		return nil, err
	}
	view := reviewView{Here: here(r), Editing: r.FormValue("edit"), Total: counts.Pending, Next: page.Next}
	for _, w := range page.Waiting {
		one := client.ViewWaiting(w.Memory, w.Turn, w.Conflicts)
		one.Reason, one.Author = w.Reason, w.Author
		view.Waiting = append(view.Waiting, one)
	}
	return view, nil
}

// judgeFacts decides on the selected facts in one run. A decision on a single fact can also change the fact's text.
func (p *Page) judge(r *http.Request, v visit) (done, error) {
	action := memory.Action(r.PostFormValue("do"))
	ids := r.PostForm["id"]
	if len(ids) == 0 {
		return done{Say: "Nothing was selected."}, nil
	}
	var all []curate.Judgement
	for _, id := range ids {
		all = append(all, curate.Judgement{ID: id, Action: action, Seen: r.PostFormValue("seen-" + id)})
	}
	if words := field(r, "content"); words != nil && len(all) == 1 {
		all[0].Content = *words
	}
	return p.decide(r, v, all...)
}

func (p *Page) decide(r *http.Request, v visit, all ...curate.Judgement) (done, error) {
	judged, receipt, err := p.engine.Curate.Judge(r.Context(), v.owner, all, "", v.author)
	if err != nil {
		return done{}, err
	}
	d := done{Say: plural(len(judged), "fact") + " " + acted[all[0].Action] + ".", Runs: []string{receipt.Run}}
	if len(judged) == 1 {
		d.Say = capital(acted[all[0].Action]) + ": " + clip(60, judged[0].Content())
	}
	return d, nil
}

// capitalize capitalizes an English word in lower case.
func capital(s string) string {
	if s == "" {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}
