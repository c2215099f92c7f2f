package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

func (d *door) shareOperations(a adder) {
	operation(a, http.MethodGet, "/api/memory/{id}/share", "get-share", "Whom a fact is shared with", d.sharedWith)
	operation(a, http.MethodPost, "/api/memory/{id}/share", "share-memory", "Show a fact to another user, a pool or everybody", d.share)
	operation(a, http.MethodDelete, "/api/memory/{id}/share", "unshare-memory", "Show it no longer", d.unshare)
}

func (d *door) sharedWith(ctx context.Context, in *ByID) (*body[client.Shared], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	with, err := d.engine.Share.SharedWith(ctx, owner, in.ID)
	return sharedView(in.ID, with, err)
}

type shareInput struct {
	ByID
	Idempotent
	Body client.ShareRequest
}

func (d *door) share(ctx context.Context, in *shareInput) (*body[client.Shared], error) {
	return d.sharing(ctx, in.ID, share.Sharing{To: in.Body.To, Idempotency: in.Key})
}

type unshareInput struct {
	ByID
	Idempotent
	To string `query:"to" required:"true" maxLength:"300" doc:"user/NAME, pool/NAME or global."`
}

func (d *door) unshare(ctx context.Context, in *unshareInput) (*body[client.Shared], error) {
	return d.sharing(ctx, in.ID, share.Sharing{To: in.To, End: true, Idempotency: in.Key})
}

func (d *door) sharing(ctx context.Context, id string, s share.Sharing) (*body[client.Shared], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	s.Admin = httpx.IdentityOf(ctx).Role == httpx.RoleAdmin
	with, err := d.engine.Share.Share(ctx, owner, id, s, author)
	return sharedView(id, with, err)
}

func sharedView(id string, with []memory.Owner, err error) (*body[client.Shared], error) {
	if err != nil {
		return nil, err
	}
	out := client.Shared{ID: id, With: []string{}}
	for _, o := range with {
		out.With = append(out.With, o.Called())
	}
	return answer(out), nil
}
