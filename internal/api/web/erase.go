package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// eraseWord is the word that the user types to confirm.
const eraseWord = "erase"

// maxShownErased is the number of memories to erase that are listed at first; the rest can be unfolded.
const maxShownErased = 100

// eraseView lists the memories that would be erased, including all memories with the same content.
type eraseView struct {
	IDs         string          // ids of the matched memories, separated by spaces
	Fingerprint string          // hash of the memories shown: see the function fingerprint
	Shown       []client.Memory // the first maxShownErased memories
	Rest        []client.Memory // memories after the first maxShownErased
	Total       int             // number of memories that would be erased
	Error       string          // reason why nothing was erased
	Word        string          // word to type to confirm
	Back        string          // path of the page to which the form returns
}

func (p *Page) erasePreview(r *http.Request, v visit) (any, error) {
	q := strings.TrimSpace(r.FormValue("q"))
	ids := r.Form["id"]
	if q != "" {
		if len(ids) > 0 {
			return nil, memory.Errorf(memory.Invalid, "give either a query or ids")
		}
		var err error
		if ids, err = p.matchingIDs(r.Context(), v, q); err != nil {
			return nil, err
		}
		if len(ids) == 0 {
			return eraseView{Back: "/data"}, nil
		}
	}
	return p.previewErasure(r.Context(), v, ids)
}

// matchingIDs returns the ids of the memories that a query matches. The confirmation sends these ids, not the query,
// because the query may match other memories later.
func (p *Page) matchingIDs(ctx context.Context, v visit, query string) ([]string, error) {
	live, _, err := p.engine.Curate.ForgetMatching(ctx, v.owner, curate.ForgetRequest{Query: query, DryRun: true}, v.author)
	if err != nil {
		return nil, err
	}
	withRetired, _, err := p.engine.Curate.ForgetMatching(ctx, v.owner, curate.ForgetRequest{Query: query, Erase: true, DryRun: true}, v.author)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, m := range live {
		ids[m.ID()] = true
	}
	var out []string
	for _, m := range withRetired {
		// Retired memories match too. The other active or pending memories only have the same content as a match:
		// erasing the match erases them too.
		if ids[m.ID()] || !m.Status().Live() {
			out = append(out, m.ID())
		}
	}
	return out, nil
}

func (p *Page) previewErasure(ctx context.Context, v visit, ids []string) (eraseView, error) {
	view := eraseView{IDs: strings.Join(ids, " "), Word: eraseWord, Back: "/data"}
	if len(ids) == 1 {
		view.Back = "/memories/" + url.PathEscape(ids[0])
	}
	erased, _, err := p.engine.Curate.ForgetMatching(ctx, v.owner, curate.ForgetRequest{IDs: ids, Erase: true, DryRun: true}, v.author)
	if err != nil {
		return view, err
	}
	view.Total, view.Fingerprint, view.Shown = len(erased), fingerprint(erased), memoryViews(erased)
	if view.Total > maxShownErased {
		view.Shown, view.Rest = view.Shown[:maxShownErased], view.Shown[maxShownErased:]
	}
	return view, nil
}

// fingerprint returns a hash of memories and their versions, independent of their order.
func fingerprint(memories []memory.Memory) string {
	lines := make([]string, len(memories))
	for i, m := range memories {
		lines[i] = fmt.Sprintf("%s %q %d\n", m.Kind(), m.ID(), m.Version())
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

// eraseMemories permanently erases text if the user typed eraseWord and the memories shown have not changed.
func (p *Page) eraseMemories(w http.ResponseWriter, r *http.Request, v visit) error {
	view, ids := eraseView{Back: "/data"}, strings.Fields(r.PostFormValue("ids"))
	if len(ids) > 0 {
		var err error
		if view, err = p.previewErasure(r.Context(), v, ids); err != nil {
			return err
		}
	}
	switch {
	case len(ids) == 0:
	case r.PostFormValue("sum") != view.Fingerprint:
		view.Error = "Nothing was erased, because memory has changed. This is what would be erased now."
	case !strings.EqualFold(strings.TrimSpace(r.PostFormValue("word")), eraseWord):
		view.Error = "Nothing was erased: type “" + eraseWord + "” to confirm."
	case view.Total > 0:
		_, receipt, err := p.engine.Curate.ForgetMatching(r.Context(), v.owner, curate.ForgetRequest{IDs: ids, Erase: true}, v.author)
		if err != nil {
			return err
		}
		if receipt.Run != "" {
			http.Redirect(w, r, "/erased/"+url.PathEscape(receipt.Run), http.StatusSeeOther)
			return nil
		}
		view = eraseView{Back: "/data"} // another request erased the memories first
	}
	p.render(w, r, http.StatusOK, "erase", p.newLayout(w, r, v, view))
	return nil
}

// erasedView is the receipt of an erasure. Only ids and times remain.
type erasedView struct {
	Run    string
	At     time.Time
	Author memory.Author
	Items  []erasedItem
}

type erasedItem struct{ Kind, ID string }

func (p *Page) erasureReceipt(r *http.Request, v visit) (any, error) {
	view := erasedView{Run: v.id}
	for c, err := range memory.AllChanges(r.Context(), p.engine.Changes, v.owner, memory.ChangeQuery{Run: v.id, Action: memory.ActionErase}) {
		if err != nil {
			return nil, err
		}
		kind, id, _ := strings.Cut(c.After.Target(), ":")
		view.At, view.Author = c.At, c.Author
		view.Items = append(view.Items, erasedItem{kind, id})
	}
	if len(view.Items) == 0 {
		return nil, memory.Errorf(memory.NotFound, "no such receipt: %q", clip(60, v.id))
	}
	slices.Reverse(view.Items)
	return view, nil
}
