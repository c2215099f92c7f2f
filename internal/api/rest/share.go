package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

func (d memoryAPI) shareOperations(a adder) {
	owned(a, http.MethodGet, "/api/memory/{id}/share", "get-share", "Whom a fact is shared with", d.sharedWith)
	owned(a, http.MethodPost, "/api/memory/{id}/share", "share-memory", "Show a fact to another user, a pool or everybody", d.share)
	owned(a, http.MethodDelete, "/api/memory/{id}/share", "unshare-memory", "Show it no longer", d.unshare)
}

func (d memoryAPI) sharedWith(ctx context.Context, by caller, in *ByID) (client.Shared, error) {
	return viewed(sharedView(in.ID))(d.engine.Share.SharedWith(ctx, by.owner, in.ID))
}

type shareInput struct {
	ByID
	Idempotent
	Body client.ShareRequest
}

func (d memoryAPI) share(ctx context.Context, by caller, in *shareInput) (client.Shared, error) {
	return d.sharing(ctx, by, in.ID, share.Sharing{To: in.Body.To, Idempotency: in.Key})
}

type unshareInput struct {
	ByID
	Idempotent
	To string `query:"to" required:"true" maxLength:"300" doc:"user/NAME, pool/NAME or global."`
}

func (d memoryAPI) unshare(ctx context.Context, by caller, in *unshareInput) (client.Shared, error) {
	return d.sharing(ctx, by, in.ID, share.Sharing{To: in.To, End: true, Idempotency: in.Key})
}

func (d memoryAPI) sharing(ctx context.Context, by caller, id string, s share.Sharing) (client.Shared, error) {
	s.Admin = httpx.IdentityOf(ctx).Role == httpx.RoleAdmin
	return viewed(sharedView(id))(d.engine.Share.Share(ctx, by.owner, id, s, by.author))
}

func sharedView(id string) func([]memory.Owner) client.Shared {
	return func(with []memory.Owner) client.Shared {
		return client.Shared{ID: id, With: each(with, memory.Owner.Called)}
	}
}
