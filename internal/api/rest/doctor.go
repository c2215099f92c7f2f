package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

func (d serverAPI) doctorOperations(a adder) {
	operation(a, http.MethodGet, "/api/doctor", "get-doctor", "What is wrong with the folders, the vault, the database, the index and the models", d.doctor)
	operation(a, http.MethodPost, "/api/doctor/confirm", "confirm-deletions", "Forget files that are gone from the vault at once", d.confirm)
}

func (d serverAPI) doctor(ctx context.Context, _ *struct{}) (*body[client.Checkup], error) {
	return d.checkup(ctx, false)
}

func (d serverAPI) confirm(ctx context.Context, _ *struct{}) (*body[client.Checkup], error) {
	return d.checkup(ctx, true)
}

// checkup is for whoever runs the server: it names files of all users.
func (d serverAPI) checkup(ctx context.Context, confirm bool) (*body[client.Checkup], error) {
	if httpx.IdentityOf(ctx).Role != httpx.RoleAdmin {
		return nil, memory.Errorf(memory.Forbidden, "what is wrong with the server is told to whoever runs it")
	}
	if d.Doctor == nil {
		return nil, memory.Errorf(memory.NotFound, "this server looks at nothing of its own")
	}
	found, err := d.Doctor(ctx, confirm)
	if err != nil {
		return nil, err
	}
	return answer(found), nil
}
