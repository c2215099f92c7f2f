package client

import (
	"context"
	"net/url"
)

// FeedbackRequest is what a person says of a fact that was recalled.
type FeedbackRequest struct {
	Verdict string `json:"verdict" enum:"useful,wrong" doc:"useful makes it surer, wrong less sure."`
}

// Feedback makes a fact surer, or less sure.
func (c *Client) Feedback(ctx context.Context, id, verdict string) (Memory, error) {
	return post[Memory](ctx, c, "/api/memory/"+url.PathEscape(id)+"/feedback", FeedbackRequest{verdict})
}
