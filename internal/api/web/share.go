package web

import (
	"net/http"
	"strings"

	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// changeSharing shares a fact with a user, a pool or everybody, or ends the sharing.
func (p *Page) changeSharing(r *http.Request, v visit) (formResult, error) {
	s := share.Request{Receiver: r.PostFormValue("to"), ByAdmin: httpx.IdentityOf(r.Context()).Role == httpx.RoleAdmin}
	if s.Receiver != string(memory.GlobalKind) && !strings.Contains(s.Receiver, "/") { // the form has a kind and a separate name
		s.Receiver += "/" + strings.TrimSpace(r.PostFormValue("name"))
	}
	say := "Shared with "
	switch do := r.PostFormValue("do"); do {
	case "share":
	case "end":
		s.Stop, say = true, "No longer shared with "
	default:
		return formResult{}, memory.Errorf(memory.Invalid, "unknown action %q", clip(20, do))
	}
	if _, err := p.engine.Share.Share(r.Context(), v.owner, v.id, s, v.author); err != nil {
		return formResult{}, err
	}
	return formResult{Message: say + recipientName(s.Receiver) + "."}, nil
}

// recipientName describes the recipient of a shared fact for people.
func recipientName(recipient string) string {
	kind, name, _ := strings.Cut(recipient, "/")
	switch memory.OwnerKind(kind) {
	case memory.GlobalKind:
		return "everybody"
	case memory.PoolKind:
		return "everybody in " + name
	}
	return name
}
