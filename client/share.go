package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// ShareRequest names the owner to share a fact with.
type ShareRequest struct {
	To string `json:"to" maxLength:"300" doc:"user/NAME; or, only for administrators, pool/NAME or global (everybody)."`
}

// Shared lists the owners with whom a fact is shared.
type Shared struct {
	ID   string   `json:"id"`
	With []string `json:"with" doc:"user/NAME, pool/NAME or global, in order."`
}

// Erased is the receipt of erasing a user.
type Erased struct {
	User          string         `json:"user"`
	ClosedAt      time.Time      `json:"closed_at" doc:"Time when the user was closed. No memory of the user is written later."`
	Runs          []string       `json:"runs" doc:"Runs in the journal that removed text in this request."`
	Removed       map[string]int `json:"removed" doc:"Number of records whose text this request removed, by kind: fact, turn, summary, link, context, conversation, profile, trace."`
	Links         int            `json:"links" doc:"Number of removed copies of the user's facts in other users' memory."`
	Traces        int            `json:"traces" doc:"Number of removed traces of other users that showed erased text from a pool or global memory."`
	Audit         int            `json:"audit" doc:"Number of audit entries in which a hash replaced the user's name. Actions and times remain."`
	TextRemainsIn []string       `json:"held" doc:"Places outside Loci's control that may still contain the text."`
}

func sharePath(id string) string { return "/api/memory/" + url.PathEscape(id) + "/share" }

// Share shares a fact with another owner.
func (c *Client) Share(ctx context.Context, id, owner string) (Shared, error) {
	return post[Shared](ctx, c, sharePath(id), ShareRequest{To: owner})
}

// Unshare ends the sharing of a fact with an owner.
func (c *Client) Unshare(ctx context.Context, id, owner string) (Shared, error) {
	return remove[Shared](ctx, c, sharePath(id)+"?to="+url.QueryEscape(owner))
}

// SharedWith returns the owners with whom a fact is shared.
func (c *Client) SharedWith(ctx context.Context, id string) (Shared, error) {
	return get[Shared](ctx, c, sharePath(id))
}

// EraseUser removes all text of a user permanently and closes the user's memory.
func (c *Client) EraseUser(ctx context.Context, user string) (Erased, error) {
	return remove[Erased](ctx, c, "/api/users/"+url.PathEscape(user))
}

// EraseExistingUser is like EraseUser, but returns [memory.NotFound] for a user without data and does not
// close the user's memory.
func (c *Client) EraseExistingUser(ctx context.Context, user string) (Erased, error) {
	return remove[Erased](ctx, c, "/api/users/"+url.PathEscape(user)+"?known=true")
}

// OpenUser opens the memory of an erased user, which is empty.
func (c *Client) OpenUser(ctx context.Context, user string) error {
	_, err := c.do(ctx, http.MethodPost, "/api/users/"+url.PathEscape(user)+"/open", nil, nil)
	return err
}
