package web

import (
	"net/http"
	"strings"

	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// changeSharing shares a fact with a user, a pool or everybody, or ends the sharing.
func (p *Page) share(r *http.Request, v visit) (done, error) {
	s := share.Sharing{To: r.PostFormValue("to"), Admin: httpx.IdentityOf(r.Context()).Role == httpx.RoleAdmin}
	if s.To != string(memory.GlobalKind) && !strings.Contains(s.To, "/") { // the form has a kind and a separate name
		s.To += "/" + strings.TrimSpace(r.PostFormValue("name"))
	}
	say := "Shared with "
	switch do := r.PostFormValue("do"); do {
	case "share":
	case "end":
		s.End, say = true, "No longer shared with "
	default:
		return done{}, memory.Errorf(memory.Invalid, "unknown action %q", clip(20, do))
	}
	if _, err := p.engine.Share.Share(r.Context(), v.owner, v.id, s, v.author); err != nil {
		return done{}, err
	}
	return done{Say: say + sharer(s.To) + "."}, nil
}

// recipientName describes the recipient of a shared fact for people.
func sharer(to string) string {
	kind, name, _ := strings.Cut(to, "/")
	switch memory.OwnerKind(kind) {
	case memory.GlobalKind:
		return "everybody"
	case memory.PoolKind:
		return "everybody in " + name
	}
	return name
}
