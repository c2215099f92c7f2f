package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Entry is a key and a value about the user, in every prompt.
type Entry struct {
	Key       string    `json:"key"`
	Value     string    `json:"value"`
	UpdatedAt time.Time `json:"updated_at"`
	Tokens    int       `json:"tokenCount" doc:"How many tokens it takes in a prompt, estimated."`
}

// Profile is all profile entries.
type Profile struct {
	Entries []Entry `json:"entries" doc:"In order of key."`
}

// Core is the facts that every conversation begins with: who the user is.
type Core struct {
	Tokens  int        `json:"tokens" doc:"How many it takes of a prompt, estimated."`
	Budget  int        `json:"budget" doc:"How many it may take: recall.core, or that of pinned facts alone where it is 0."`
	Facts   []CoreFact `json:"facts" doc:"In the order in which they stand."`
	Profile []Entry    `json:"profile" doc:"Which stand among them."`
	Left    []CoreFact `json:"left" doc:"Facts that hold and that there is no room for, those that matter most first. They are found by search."`
}

// CoreFact is a fact of a core.
type CoreFact struct {
	Memory
	Heading string `json:"heading" doc:"Under which it stands."`
	Why     string `json:"why" doc:"Why it is there: pinned, how to answer, or that it holds." enum:"pinned,answers,holds"`
}

// SetEntry is the value of a profile entry.
type SetEntry struct {
	Value string `json:"value"`
}

// Profile returns the profile.
func (c *Client) Profile(ctx context.Context) (Profile, error) {
	return get[Profile](ctx, c, "/api/profile")
}

// Core returns the facts that every conversation begins with.
func (c *Client) Core(ctx context.Context) (Core, error) {
	return get[Core](ctx, c, "/api/core")
}

// Entry returns one entry of the profile.
func (c *Client) Entry(ctx context.Context, key string) (Entry, error) {
	return get[Entry](ctx, c, "/api/profile/"+url.PathEscape(key))
}

// SetEntry writes an entry of the profile.
func (c *Client) SetEntry(ctx context.Context, key, value string) (Entry, error) {
	return call[Entry](ctx, c, http.MethodPut, "/api/profile/"+url.PathEscape(key), SetEntry{value})
}

// DropEntry removes a profile entry.
func (c *Client) DropEntry(ctx context.Context, key string) (Receipt, error) {
	return remove[Receipt](ctx, c, "/api/profile/"+url.PathEscape(key))
}
