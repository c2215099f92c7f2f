package web

import (
	"net/http"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// auditView is a page of the audit record. Only admins see it.
type auditView struct {
	memory.AuditPage
	User, Act string // entries of this user and with this action; "" means all
	Cursor    string // cursor of the shown page; "" for the first page
}

func (p *Page) auditView(r *http.Request, _ visit) (any, error) {
	if !isAdmin(r) {
		return nil, memory.Errorf(memory.Forbidden, "the audit record is for admins only")
	}
	view := auditView{User: r.FormValue("user"), Act: r.FormValue("act"), Cursor: r.FormValue("cursor")}
	page, err := p.engine.Store.AuditEntries(r.Context(), httpx.IdentityOf(r.Context()).Namespace, memory.AuditQuery{User: view.User, Act: view.Act, Cursor: view.Cursor})
	view.AuditPage = page
	return view, err
}
