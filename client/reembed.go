package client

import (
	"context"
)

// ReembedRequest asks to embed memories without vectors.
type ReembedRequest struct {
	DryRun bool `json:"dry_run,omitempty" doc:"Only say how many that are."`
}

// Vectors is the progress of embedding memories.
type Vectors struct {
	Model    string `json:"model" doc:"Names the embedder: it changes with whatever changes its vectors."`
	Memories int    `json:"memories" doc:"That have a vector, or are to get one."`
	Lacking  int    `json:"lacking" doc:"Of those, how many have none yet. While they are more than one in a hundred, all are found by their words alone."`
	UnderWay bool   `json:"under_way,omitempty" doc:"A job gives them, or is to."`
	Error    string `json:"error,omitempty" doc:"Why that job waits to be tried again."`
}

// AllVectors is the progress of embedding all users' memories.
type AllVectors struct {
	Vectors
	Users    int `json:"users" doc:"That have memories, what everybody shares counted as one."`
	Complete int `json:"complete" doc:"Of those, in whose memory nothing lacks. Each is compared by vector as soon as nearly all of it has one."`
}

// PruneRequest asks to remove old vectors.
type PruneRequest struct {
	DryRun bool `json:"dry_run,omitempty" doc:"Only say how many there are."`
	All    bool `json:"all,omitempty" doc:"Those of all users; for whoever runs the server."`
}

// Pruned is the receipt of removed vectors.
type Pruned struct {
	Model   string        `json:"model" doc:"The embedder in use, whose vectors stay."`
	Vectors int           `json:"vectors"`
	Models  []PrunedModel `json:"models"`
}

// PrunedModel is what was removed of one embedder.
type PrunedModel struct {
	Model   string `json:"model"`
	Users   int    `json:"users"`
	Vectors int    `json:"vectors"`
}

// Reembed queues the job that embeds memories without vectors.
func (c *Client) Reembed(ctx context.Context, in ReembedRequest) (Vectors, error) {
	return post[Vectors](ctx, c, "/api/reembed", in)
}

// Vectors returns the progress of embedding.
func (c *Client) Vectors(ctx context.Context) (Vectors, error) {
	return get[Vectors](ctx, c, "/api/reembed")
}

// ReembedAll queues the jobs that embed all users' memories without vectors. It needs an admin key,
// as the following methods do, except for pruning one's own vectors.
func (c *Client) ReembedAll(ctx context.Context, in ReembedRequest) (AllVectors, error) {
	return post[AllVectors](ctx, c, "/api/reembed/all", in)
}

// VectorsOfAll returns the progress of embedding all users' memories.
func (c *Client) VectorsOfAll(ctx context.Context) (AllVectors, error) {
	return get[AllVectors](ctx, c, "/api/reembed/all")
}

// PruneVectors removes vectors of earlier embedders.
func (c *Client) PruneVectors(ctx context.Context, in PruneRequest) (Pruned, error) {
	return post[Pruned](ctx, c, "/api/reembed/prune", in)
}
