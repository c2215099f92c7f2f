package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Entry is a profile entry: a key and a value about the user. Every prompt contains it.
type Entry struct {
	Key       string    `json:"key"`
	Value     string    `json:"value"`
	UpdatedAt time.Time `json:"updated_at"`
	Tokens    int       `json:"tokenCount" doc:"Estimated number of tokens in a prompt."`
}

// Profile contains all profile entries.
type Profile struct {
	Entries []Entry `json:"entries" doc:"The entries, ordered by key."`
}

// Core contains the facts about the user with which every conversation begins.
type Core struct {
	Tokens     int        `json:"tokens" doc:"Estimated number of tokens in a prompt."`
	Budget     int        `json:"budget" doc:"Maximum number of tokens: the setting recall.core or, if it is 0, the limit for pinned facts."`
	Facts      []CoreFact `json:"facts" doc:"The facts, in the order of the prompt."`
	Profile    []Entry    `json:"profile" doc:"Profile entries, which are listed among the facts."`
	OverBudget []CoreFact `json:"left" doc:"Valid facts that exceed the budget, most important first. Only searches find them."`
}

// CoreFact is a fact of the [Core].
type CoreFact struct {
	Memory
	Heading string `json:"heading" doc:"The heading above the fact."`
	Why     string `json:"why" doc:"Reason why the core contains the fact: it is pinned, tells how to answer, or is currently valid (holds)." enum:"pinned,answers,holds"`
}

// SetEntry contains the value to write to a profile entry.
type SetEntry struct {
	Value string `json:"value"`
}

// Profile returns the profile.
func (c *Client) Profile(ctx context.Context) (Profile, error) {
	return get[Profile](ctx, c, "/api/profile")
}

// Core returns the facts about the user with which every conversation begins.
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
