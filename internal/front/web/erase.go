package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// eraseWord is what is typed to confirm.
const eraseWord = "erase"

// shownErased is how many of what is erased are listed.
const shownErased = 100

// eraseView is what would be erased, all that says the same included.
type eraseView struct {
	Q     string
	IDs   []string
	Gone  []client.Memory
	Total int
	More  int    // that are not listed
	Wrong string // why it was not done
	Word  string
	Back  string
}

func (eraseView) title() string { return "Erase" }

func (p *Page) erasing(r *http.Request, v visit) (any, error) {
	return p.wouldErase(r, v, strings.TrimSpace(r.FormValue("q")), r.Form["id"])
}

func (p *Page) wouldErase(r *http.Request, v visit, q string, ids []string) (eraseView, error) {
	view := eraseView{Q: q, IDs: ids, Word: eraseWord, Back: "/data"}
	if len(ids) == 1 {
		view.Back = "/memories/" + url.PathEscape(ids[0])
	}
	gone, _, err := p.engine.ForgetMatching(r.Context(), v.owner, engine.Matching{Query: q, IDs: ids, Erase: true, DryRun: true}, v.author)
	if err != nil {
		return view, err
	}
	view.Total = len(gone)
	view.More = max(0, len(gone)-shownErased)
	for _, m := range gone[:len(gone)-view.More] {
		view.Gone = append(view.Gone, client.View(m))
	}
	return view, nil
}

// erase removes words for good, once that was typed and if it is still what was shown.
func (p *Page) erase(w http.ResponseWriter, r *http.Request) {
	v, err := p.visitOf(r)
	if err == nil {
		err = readForm(r)
	}
	if err != nil {
		p.Refuse(w, r, err)
		return
	}
	q, ids := strings.TrimSpace(r.PostFormValue("q")), r.PostForm["id"]
	view, err := p.wouldErase(r, v, q, ids)
	if err != nil {
		p.Refuse(w, r, err)
		return
	}
	switch {
	case !strings.EqualFold(strings.TrimSpace(r.PostFormValue("word")), eraseWord):
		view.Wrong = "Nothing was erased: type “" + eraseWord + "” to go on."
	case r.PostFormValue("total") != strconv.Itoa(view.Total):
		view.Wrong = "Nothing was erased: something changed meanwhile. This is what would be erased now."
	}
	if view.Wrong != "" {
		p.render(w, r, http.StatusOK, "erase", p.frame(w, r, v, view))
		return
	}
	_, receipt, err := p.engine.ForgetMatching(r.Context(), v.owner, engine.Matching{Query: q, IDs: ids, Erase: true}, v.author)
	if err != nil {
		p.Refuse(w, r, err)
		return
	}
	http.Redirect(w, r, "/erased/"+url.PathEscape(receipt.Run), http.StatusSeeOther)
}

// erasedView is the receipt of an erasure: ids and times are all that is left.
type erasedView struct {
	Run    string
	At     time.Time
	Author memory.Author
	Left   []left
}

func (erasedView) title() string { return "Erased" }

// left is what is left of something erased.
type left struct{ Kind, ID string }

func (p *Page) erased(r *http.Request, v visit) (any, error) {
	run, err := httpx.PathValue(r, "run")
	if err != nil {
		return nil, err
	}
	view := erasedView{Run: run}
	q := memory.ChangeQuery{Run: run, Action: memory.ActionErase, Limit: 500}
	for {
		page, err := p.engine.Changes(r.Context(), v.owner, q)
		if err != nil {
			return nil, err
		}
		for _, c := range page.Changes {
			kind, id, _ := strings.Cut(c.After.Target(), ":")
			view.At, view.Author = c.At, c.Author
			view.Left = append(view.Left, left{kind, id})
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if len(view.Left) == 0 {
		return nil, memory.Errorf(memory.NotFound, "there is no receipt %q", clip(60, run))
	}
	slices.Reverse(view.Left)
	return view, nil
}
