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

func (d *handler) addShareOperations(a registrar) {
	registerForCaller(a, http.MethodGet, sharePath, "get-share", "List who a fact is shared with", func(ctx context.Context, by caller, in *ByID) (client.Shared, error) {
		return mapResult(sharedView(in.ID))(d.engine.Share.Receivers(ctx, by.owner, in.ID))
	})
	registerForCaller(a, http.MethodPost, sharePath, "share-memory", "Share a fact with another user, a pool or everybody", func(ctx context.Context, by caller, in *changeRequest[client.ShareRequest]) (client.Shared, error) {
		return d.changeSharing(ctx, by, in.ID, share.Request{Receiver: in.Body.To, IdempotencyKey: in.Key})
	})
	registerForCaller(a, http.MethodDelete, sharePath, "unshare-memory", "End the sharing of a fact", func(ctx context.Context, by caller, in *unshareInput) (client.Shared, error) {
		return d.changeSharing(ctx, by, in.ID, share.Request{Receiver: in.To, Stop: true, IdempotencyKey: in.Key})
	})
}

func (d *handler) changeSharing(ctx context.Context, by caller, id string, s share.Request) (client.Shared, error) {
	s.ByAdmin = httpx.IdentityOf(ctx).Role == httpx.RoleAdmin
	return mapResult(sharedView(id))(d.engine.Share.Share(ctx, by.owner, id, s, by.author))
}

func sharedView(id string) func([]memory.Owner) client.Shared {
	return func(recipients []memory.Owner) client.Shared {
		return client.Shared{ID: id, With: mapSlice(recipients, memory.Owner.DisplayName)}
	}
}
