package client

import (
	"context"
	"net/http"
)

// ReembedRequest asks for the vectors that memories lack.
type ReembedRequest struct {
	DryRun bool `json:"dry_run,omitempty" doc:"Only say how many that are."`
}

// Vectors is how far memories have vectors of the embedder.
type Vectors struct {
	Model    string `json:"model" doc:"Names the embedder: it changes with whatever changes its vectors."`
	Memories int    `json:"memories" doc:"That have a vector, or are to get one."`
	Lacking  int    `json:"lacking" doc:"Of those, how many have none yet. While they are more than one in a hundred, all are found by their words alone."`
	UnderWay bool   `json:"under_way,omitempty" doc:"A job gives them, or is to."`
	Error    string `json:"error,omitempty" doc:"Why that job waits to be tried again."`
}

// Reembed queues the job that gives memories the vectors that they lack.
func (c *Client) Reembed(ctx context.Context, in ReembedRequest) (out Vectors, err error) {
	_, err = c.do(ctx, http.MethodPost, "/api/reembed", in, &out)
	return out, err
}

// Vectors says how far memories have vectors.
func (c *Client) Vectors(ctx context.Context) (out Vectors, err error) {
	_, err = c.do(ctx, http.MethodGet, "/api/reembed", nil, &out)
	return out, err
}
