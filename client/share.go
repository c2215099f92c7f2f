package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// ShareRequest is a receiver to share a fact with.
type ShareRequest struct {
	To string `json:"to" maxLength:"300" doc:"user/NAME; or pool/NAME or global (everybody), which only whoever runs the server may."`
}

// Shared is the receivers of a fact.
type Shared struct {
	ID   string   `json:"id"`
	With []string `json:"with" doc:"user/NAME, pool/NAME or global, in order."`
}

// Erased is the receipt of a user's erasure.
type Erased struct {
	User     string         `json:"user"`
	ClosedAt time.Time      `json:"closed_at" doc:"When it was closed: nothing is written since."`
	Runs     []string       `json:"runs" doc:"The runs of the journal that removed something now."`
	Removed  map[string]int `json:"removed" doc:"How many lost their words now, by kind: fact, turn, summary, link, context, conversation, profile, trace."`
	Links    int            `json:"links" doc:"Copies of the user's facts that others had, and lost."`
	Traces   int            `json:"traces" doc:"Traces of others, who were shown such by a pool or with everybody, that went with them."`
	Audit    int            `json:"audit" doc:"Entries of the audit record whose names gave way to a hash; the acts and their times stay."`
	Held     []string       `json:"held" doc:"What may still hold words and is not reached."`
}

func sharePath(id string) string { return "/api/memory/" + url.PathEscape(id) + "/share" }

// Share shares a fact with another owner.
func (c *Client) Share(ctx context.Context, id, to string) (Shared, error) {
	return post[Shared](ctx, c, sharePath(id), ShareRequest{To: to})
}

// Unshare ends sharing a fact with an owner.
func (c *Client) Unshare(ctx context.Context, id, to string) (Shared, error) {
	return remove[Shared](ctx, c, sharePath(id)+"?to="+url.QueryEscape(to))
}

// SharedWith returns the receivers of a fact.
func (c *Client) SharedWith(ctx context.Context, id string) (Shared, error) {
	return get[Shared](ctx, c, sharePath(id))
}

// EraseUser removes all text of a user for good and closes the user.
func (c *Client) EraseUser(ctx context.Context, user string) (Erased, error) {
	return remove[Erased](ctx, c, "/api/users/"+url.PathEscape(user))
}

// EraseKnownUser is EraseUser, but returns [memory.NotFound] for a name without any data, and does
// not close it.
func (c *Client) EraseKnownUser(ctx context.Context, user string) (Erased, error) {
	return remove[Erased](ctx, c, "/api/users/"+url.PathEscape(user)+"?known=true")
}

// OpenUser lets an erased user start over.
func (c *Client) OpenUser(ctx context.Context, user string) error {
	_, err := c.do(ctx, http.MethodPost, "/api/users/"+url.PathEscape(user)+"/open", nil, nil)
	return err
}
