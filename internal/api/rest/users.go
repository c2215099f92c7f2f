package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// ByUser is the path parameter with the name of a user of the caller's namespace.
type ByUser struct {
	ID string `path:"id" maxLength:"256" doc:"The user's name."`
}

type eraseUserInput struct {
	ByUser
	Existing bool `query:"known" doc:"Respond with not_found if nothing was ever stored for the user. Without this parameter, an unused name is closed too."`
}

// owner returns the user to erase or reopen, and the author of the change. An admin key may name any user. Other
// callers must prove that they are the user, because a front end may send any name.
func (u ByUser) owner(ctx context.Context) (memory.Owner, memory.Author, error) {
	id := httpx.IdentityOf(ctx)
	owner := memory.User(id.Namespace, u.ID)
	switch {
	case !owner.Valid():
		return "", memory.Author{}, memory.Errorf(memory.Invalid, "invalid user %q", u.ID)
	case id.Role != httpx.RoleAdmin && !id.HasCredentialOf(owner):
		return "", memory.Author{}, memory.Errorf(memory.Forbidden, "erasing or opening %q needs an admin key, or a key or signed token of that user", u.ID)
	}
	return owner, id.AuthorOf(owner), nil
}

func (d *handler) addUserOperations(a registrar) {
	registerForAdmin(a, http.MethodGet, "/api/users", "list-users", "List the users that have or had a memory; for admins", "the list of users is for admins only", func(ctx context.Context, in *client.UsersQuery) (client.Users, error) {
		users, next, err := d.engine.Users(ctx, httpx.IdentityOf(ctx).Namespace, in.Cursor, in.Limit)
		return client.Users{Next: next, Users: mapSlice(users, func(u core.User) client.User {
			return client.User{User: u.Owner.Name(), Name: u.Name, Closed: u.Closed}
		})}, err
	})
	register(a, http.MethodDelete, "/api/users/{id}", "erase-user", "Delete all text of a user permanently, and close the user", func(ctx context.Context, in *eraseUserInput) (*body[client.Erased], error) {
		return wrapBody(d.eraseUser(ctx, in))
	})
	register(a, http.MethodPost, "/api/users/{id}/open", "open-user", "Reopen an erased user, with an empty memory", func(ctx context.Context, in *ByUser) (*struct{}, error) {
		owner, author, err := in.owner(ctx)
		if err != nil {
			return nil, err
		}
		return nil, d.engine.Erase.OpenOwner(ctx, owner, author)
	})
}

func (d *handler) eraseUser(ctx context.Context, in *eraseUserInput) (out client.Erased, err error) {
	owner, author, err := in.owner(ctx)
	if err != nil {
		return out, err
	}
	erase := d.engine.Erase.EraseOwner
	if in.Existing {
		erase = d.engine.Erase.EraseExisting
	}
	e, err := erase(ctx, owner, author)
	if err != nil {
		return out, err
	}
	out = client.Erased{User: owner.Name(), ClosedAt: e.ClosedAt, Runs: append([]string{}, e.Runs...), Removed: e.CountByKind, Links: e.ErasedLinks, Traces: e.ErasedTraces, Audit: e.AuditEntries, TextRemainsIn: []string{}}
	if d.RemainingCopies != nil {
		out.TextRemainsIn = append(out.TextRemainsIn, d.RemainingCopies(e.Since, e.Until)...)
	}
	return out, nil
}
