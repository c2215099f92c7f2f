package web

import (
	"net/http"
	"strings"

	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// share shows a fact to somebody else, or no longer.
func (p *Page) share(r *http.Request, v visit) (done, error) {
	s := share.Sharing{To: r.PostFormValue("to"), Admin: httpx.IdentityOf(r.Context()).Role == httpx.RoleAdmin}
	if s.To != string(memory.GlobalKind) && !strings.Contains(s.To, "/") { // a kind, and a name beside it
		s.To += "/" + strings.TrimSpace(r.PostFormValue("name"))
	}
	say := "Shared with "
	switch do := r.PostFormValue("do"); do {
	case "share":
	case "end":
		s.End, say = true, "No longer shared with "
	default:
		return done{}, memory.Errorf(memory.Invalid, "there is no %q to do here", clip(20, do))
	}
	if _, err := p.engine.Share.Share(r.Context(), v.owner, v.id, s, v.author); err != nil {
		return done{}, err
	}
	return done{Say: say + sharer(s.To) + "."}, nil
}

// sharer is who something is shared with, in words.
func sharer(to string) string {
	kind, name, _ := strings.Cut(to, "/")
	switch memory.OwnerKind(kind) {
	case memory.GlobalKind:
		return "everybody"
	case memory.PoolKind:
		return "all of " + name
	}
	return name
}
