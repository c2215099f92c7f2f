package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Key is a stored API key, without its secret text.
type Key struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Role      string    `json:"role" enum:"admin,front,user" doc:"admin: all rights, for any user. front: a trusted front end, which names the user of each request. user: only the memory of the key's user."`
	User      string    `json:"user,omitempty"`
	Scope     string    `json:"scope" enum:"read,write"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero" doc:"Absent if it never expires."`
	UsedAt    time.Time `json:"used_at,omitzero" doc:"Time of the last request, to the minute. Absent if the key was never used."`
}

// Keys are the stored API keys, oldest first.
type Keys struct {
	Keys []Key `json:"keys"`
}

// NewKey contains the fields of a key to create.
type NewKey struct {
	Name string `json:"name" maxLength:"100" doc:"The key's name for people."`
	Role string `json:"role" enum:"admin,front,user"`
	User string `json:"user,omitempty" maxLength:"256" doc:"The key's user, if the role is user."`

	Scope     string    `json:"scope,omitempty" enum:"read,write" default:"write"`
	ExpiresAt time.Time `json:"expires_at,omitzero" doc:"Absent if it never expires."`
}

// RotateKey sets when the replaced key and its replacement expire.
type RotateKey struct {
	GraceSeconds int       `json:"grace_seconds,omitempty" minimum:"0" maximum:"31536000" doc:"Time in seconds for which the old key remains valid; 0 ends it immediately."`
	ExpiresAt    time.Time `json:"expires_at,omitzero" doc:"Time when the new key expires. Absent if it never expires."`
}

// MadeKey is a new key. Only this answer contains the key's secret text.
type MadeKey struct {
	Key
	Text string `json:"key" doc:"The secret key, to be sent as bearer token or in X-Loci-Key."`
}

// Keys returns the stored API keys.
func (c *Client) Keys(ctx context.Context) (Keys, error) {
	return get[Keys](ctx, c, "/api/keys")
}

// AddKey creates an API key.
func (c *Client) AddKey(ctx context.Context, in NewKey) (MadeKey, error) {
	return post[MadeKey](ctx, c, "/api/keys", in)
}

// RotateKey creates a key with the rights of an existing key, which remains valid for a grace period.
func (c *Client) RotateKey(ctx context.Context, id string, in RotateKey) (MadeKey, error) {
	return post[MadeKey](ctx, c, "/api/keys/"+url.PathEscape(id)+"/rotate", in)
}

// RemoveKey removes an API key by its id.
func (c *Client) RemoveKey(ctx context.Context, id string) error {
	_, err := c.do(ctx, http.MethodDelete, "/api/keys/"+url.PathEscape(id), nil, nil)
	return err
}
