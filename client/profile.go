package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Entry is a key and a value about the user, which every prompt is told.
type Entry struct {
	Key       string    `json:"key"`
	Value     string    `json:"value"`
	UpdatedAt time.Time `json:"updated_at"`
	Tokens    int       `json:"tokenCount" doc:"How many tokens it takes in a prompt, estimated."`
}

// Profile is all that is written down about the user by key.
type Profile struct {
	Entries []Entry `json:"entries" doc:"In order of key."`
}

// SetEntry is the value of a profile entry.
type SetEntry struct {
	Value string `json:"value"`
}

// Profile returns the profile.
func (c *Client) Profile(ctx context.Context) (Profile, error) {
	return call[Profile](ctx, c, http.MethodGet, "/api/profile", nil)
}

// Entry returns one entry of the profile.
func (c *Client) Entry(ctx context.Context, key string) (Entry, error) {
	return call[Entry](ctx, c, http.MethodGet, "/api/profile/"+url.PathEscape(key), nil)
}

// SetEntry writes an entry of the profile.
func (c *Client) SetEntry(ctx context.Context, key, value string) (Entry, error) {
	return call[Entry](ctx, c, http.MethodPut, "/api/profile/"+url.PathEscape(key), SetEntry{value})
}

// DropEntry takes an entry out of the profile.
func (c *Client) DropEntry(ctx context.Context, key string) (Receipt, error) {
	return call[Receipt](ctx, c, http.MethodDelete, "/api/profile/"+url.PathEscape(key), nil)
}
