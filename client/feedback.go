package client

import (
	"context"
	"net/url"
)

// FeedbackRequest is a person's verdict on a recalled fact.
type FeedbackRequest struct {
	Verdict string `json:"verdict" enum:"useful,wrong" doc:"useful raises the fact's confidence, wrong lowers it."`
}

// Feedback raises or lowers a fact's confidence.
func (c *Client) Feedback(ctx context.Context, id, verdict string) (Memory, error) {
	return post[Memory](ctx, c, "/api/memory/"+url.PathEscape(id)+"/feedback", FeedbackRequest{verdict})
}
