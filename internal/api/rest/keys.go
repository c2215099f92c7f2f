package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// Keys are the API keys that are stored.
type Keys interface {
	List(ctx context.Context) ([]memory.Key, error)
	// Add makes a key and returns its text, which nobody can tell later.
	Add(ctx context.Context, name string, role memory.KeyRole, user string) (text string, key memory.Key, err error)
	Remove(ctx context.Context, id string) error
}

func (d serverAPI) keyOperations(a adder) {
	operation(a, http.MethodGet, "/api/keys", "list-keys", "The API keys that are stored, without themselves", d.listKeys)
	operation(a, http.MethodPost, "/api/keys", "add-key", "Make an API key, which is told this once", d.addKey, created)
	operation(a, http.MethodDelete, "/api/keys/{id}", "remove-key", "Remove an API key; it opens nothing any more", d.removeKey)
}

// ring returns the keys to whoever runs the server.
func (d serverAPI) ring(ctx context.Context) (Keys, error) {
	if httpx.IdentityOf(ctx).Role != httpx.RoleAdmin {
		return nil, memory.Errorf(memory.Forbidden, "keys are for whoever runs the server")
	}
	if d.Keys == nil {
		return nil, memory.Errorf(memory.NotFound, "this server keeps no keys")
	}
	return d.Keys, nil
}

func (d serverAPI) listKeys(ctx context.Context, _ *struct{}) (*body[client.Keys], error) {
	keys, err := d.ring(ctx)
	if err != nil {
		return nil, err
	}
	all, err := keys.List(ctx)
	if err != nil {
		return nil, err
	}
	return answer(client.Keys{Keys: each(all, viewKey)}), nil
}

// addKeyInput is what makes a key.
type addKeyInput struct{ Body client.NewKey }

func (d serverAPI) addKey(ctx context.Context, in *addKeyInput) (*body[client.MadeKey], error) {
	keys, err := d.ring(ctx)
	if err != nil {
		return nil, err
	}
	text, k, err := keys.Add(ctx, in.Body.Name, memory.KeyRole(in.Body.Role), in.Body.User)
	if err != nil {
		return nil, err
	}
	return answer(client.MadeKey{Key: viewKey(k), Text: text}), nil
}

func (d serverAPI) removeKey(ctx context.Context, in *ByKeyID) (*struct{}, error) {
	keys, err := d.ring(ctx)
	if err != nil {
		return nil, err
	}
	return nil, keys.Remove(ctx, in.ID)
}

// ByKeyID names a key.
type ByKeyID struct {
	ID string `path:"id" maxLength:"64" doc:"The key's id, not the key."`
}

func viewKey(k memory.Key) client.Key {
	return client.Key{ID: k.ID(), Name: k.Name, Role: string(k.Role), User: k.User, CreatedAt: k.CreatedAt}
}
