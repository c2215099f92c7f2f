package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// ByUser names a user of the namespace.
type ByUser struct {
	ID string `path:"id" maxLength:"256" doc:"The user's name."`
}

// ErasedUser names a user to erase.
type ErasedUser struct {
	ByUser
	Known bool `query:"known" doc:"Erase and close nobody of whom nothing was ever kept: that is not_found. Without it such a name is closed, too."`
}

// of returns whom a request means: whoever runs the server means anybody, a user
// themselves. A front end may name any user, so its word is not enough.
func (u ByUser) of(ctx context.Context) (memory.Owner, memory.Author, error) {
	id := httpx.IdentityOf(ctx)
	owner := memory.User(id.Namespace, u.ID)
	switch {
	case !owner.Valid():
		return "", memory.Author{}, memory.Errorf(memory.Invalid, "whose memory? %q is not a user's name", u.ID)
	case id.Role != httpx.RoleAdmin && !id.Proves(owner):
		return "", memory.Author{}, memory.Errorf(memory.Forbidden, "erasing or opening %q needs an admin key, or a key or signed token of that user", u.ID)
	}
	return owner, id.AuthorOf(owner), nil
}

func (d *handler) userOperations(a adder) {
	forAdmin(a, http.MethodGet, "/api/users", "list-users", "The users that have or had a memory, for admins", "the list of users is", func(ctx context.Context, in *client.UsersQuery) (client.Users, error) {
		users, next, err := d.engine.Users(ctx, httpx.IdentityOf(ctx).Namespace, in.Cursor, in.Limit)
		return client.Users{Next: next, Users: each(users, func(u core.User) client.User {
			return client.User{User: u.Owner.Name(), Name: u.Name, Closed: u.Closed}
		})}, err
	})
	operation(a, http.MethodDelete, "/api/users/{id}", "erase-user", "Remove all words of a user for good, and close the user", func(ctx context.Context, in *ErasedUser) (*body[client.Erased], error) {
		return answered(d.eraseUser(ctx, in))
	})
	operation(a, http.MethodPost, "/api/users/{id}/open", "open-user", "Let a user who was erased begin anew", func(ctx context.Context, in *ByUser) (*struct{}, error) {
		owner, author, err := in.of(ctx)
		if err != nil {
			return nil, err
		}
		return nil, d.engine.Erase.OpenOwner(ctx, owner, author)
	})
}

func (d *handler) eraseUser(ctx context.Context, in *ErasedUser) (out client.Erased, err error) {
	owner, author, err := in.of(ctx)
	if err != nil {
		return out, err
	}
	erase := d.engine.Erase.EraseOwner
	if in.Known {
		erase = d.engine.Erase.EraseExisting
	}
	e, err := erase(ctx, owner, author)
	if err != nil {
		return out, err
	}
	out = client.Erased{User: owner.Name(), ClosedAt: e.ClosedAt, Runs: append([]string{}, e.Runs...), Removed: e.Count, Links: e.Links, Traces: e.Traces, Audit: e.Audit, Held: []string{}}
	if d.Held != nil {
		out.Held = append(out.Held, d.Held(e.Since, e.Until)...)
	}
	return out, nil
}
