package client

import (
	"context"
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

// AllVectors is how far the memories of all users have vectors of the embedder.
type AllVectors struct {
	Vectors
	Users    int `json:"users" doc:"That have memories, what everybody shares counted as one."`
	Complete int `json:"complete" doc:"Of those, in whose memory nothing lacks. Each is compared by vector as soon as nearly all of it has one."`
}

// PruneRequest asks for old vectors to be given up.
type PruneRequest struct {
	DryRun bool `json:"dry_run,omitempty" doc:"Only say how many there are."`
	All    bool `json:"all,omitempty" doc:"Those of all users; for whoever runs the server."`
}

// Pruned is the receipt of old vectors that were given up.
type Pruned struct {
	Model   string        `json:"model" doc:"The embedder in use, whose vectors stay."`
	Vectors int           `json:"vectors"`
	Models  []PrunedModel `json:"models"`
}

// PrunedModel is what was given up of one embedder.
type PrunedModel struct {
	Model   string `json:"model"`
	Users   int    `json:"users"`
	Vectors int    `json:"vectors"`
}

// Reembed queues the job that gives memories the vectors that they lack.
func (c *Client) Reembed(ctx context.Context, in ReembedRequest) (Vectors, error) {
	return post[Vectors](ctx, c, "/api/reembed", in)
}

// Vectors says how far memories have vectors.
func (c *Client) Vectors(ctx context.Context) (Vectors, error) {
	return get[Vectors](ctx, c, "/api/reembed")
}

// ReembedAll queues the jobs that give all users' memories the vectors that they lack.
// It is for whoever runs the server, as all of what follows is but pruning one's own.
func (c *Client) ReembedAll(ctx context.Context, in ReembedRequest) (AllVectors, error) {
	return post[AllVectors](ctx, c, "/api/reembed/all", in)
}

// VectorsOfAll says how far all users' memories have vectors.
func (c *Client) VectorsOfAll(ctx context.Context) (AllVectors, error) {
	return get[AllVectors](ctx, c, "/api/reembed/all")
}

// PruneVectors gives up vectors of earlier embedders.
func (c *Client) PruneVectors(ctx context.Context, in PruneRequest) (Pruned, error) {
	return post[Pruned](ctx, c, "/api/reembed/prune", in)
}
