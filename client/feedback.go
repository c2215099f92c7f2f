package client

import (
	"context"
	"net/http"
	"net/url"
)

// FeedbackRequest is what a person says of a fact that was recalled.
type FeedbackRequest struct {
	Verdict string `json:"verdict" enum:"useful,wrong" doc:"useful makes it surer, wrong less sure."`
}

// Feedback makes a fact surer, or less sure.
func (c *Client) Feedback(ctx context.Context, id, verdict string) (Memory, error) {
	return call[Memory](ctx, c, http.MethodPost, "/api/memory/"+url.PathEscape(id)+"/feedback", FeedbackRequest{verdict})
}
