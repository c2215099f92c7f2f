package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

const sharePath = "/api/memory/{id}/share"

type unshareInput struct {
	ByID
	Idempotent
	To string `query:"to" required:"true" maxLength:"300" doc:"user/NAME, pool/NAME or global."`
}

func (d *handler) shareOperations(a adder) {
	owned(a, http.MethodGet, sharePath, "get-share", "List who a fact is shared with", func(ctx context.Context, by caller, in *ByID) (client.Shared, error) {
		return viewed(sharedView(in.ID))(d.engine.Share.SharedWith(ctx, by.owner, in.ID))
	})
	owned(a, http.MethodPost, sharePath, "share-memory", "Share a fact with another user, a pool or everybody", func(ctx context.Context, by caller, in *change[client.ShareRequest]) (client.Shared, error) {
		return d.sharing(ctx, by, in.ID, share.Sharing{To: in.Body.To, Idempotency: in.Key})
	})
	owned(a, http.MethodDelete, sharePath, "unshare-memory", "End the sharing of a fact", func(ctx context.Context, by caller, in *unshareInput) (client.Shared, error) {
		return d.sharing(ctx, by, in.ID, share.Sharing{To: in.To, End: true, Idempotency: in.Key})
	})
}

func (d *handler) sharing(ctx context.Context, by caller, id string, s share.Sharing) (client.Shared, error) {
	s.Admin = httpx.IdentityOf(ctx).Role == httpx.RoleAdmin
	return viewed(sharedView(id))(d.engine.Share.Share(ctx, by.owner, id, s, by.author))
}

func sharedView(id string) func([]memory.Owner) client.Shared {
	return func(with []memory.Owner) client.Shared {
		return client.Shared{ID: id, With: each(with, memory.Owner.Called)}
	}
}
