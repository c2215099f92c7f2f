package client

import (
	"context"
)

// ReembedRequest asks Loci to embed memories without vectors.
type ReembedRequest struct {
	DryRun bool `json:"dry_run,omitempty" doc:"Only return the number of memories without vectors."`
}

// Vectors is the progress of embedding a user's memories.
type Vectors struct {
	Model    string `json:"model" doc:"Fingerprint of the embedder. It changes with everything that affects the vectors."`
	Memories int    `json:"memories" doc:"Number of memories that have or should have a vector."`
	Lacking  int    `json:"lacking" doc:"Number of these memories without a vector. Above 1 % of the memories, searches use only words."`
	UnderWay bool   `json:"under_way,omitempty" doc:"Whether a job that embeds the memories is running or queued."`
	Error    string `json:"error,omitempty" doc:"Error of the job, which will be retried."`
}

// AllVectors is the progress of embedding all users' memories.
type AllVectors struct {
	Vectors
	Users         int `json:"users" doc:"Number of users with memories; global memory counts as one user."`
	CompleteUsers int `json:"complete" doc:"Number of users whose memories all have a vector. Searches use vectors once nearly all of a user's memories have one."`
}

// PruneRequest asks to remove vectors of earlier embedders.
type PruneRequest struct {
	DryRun bool `json:"dry_run,omitempty" doc:"Only return the number of vectors."`
	All    bool `json:"all,omitempty" doc:"Remove vectors of all users. Only for administrators."`
}

// Pruned is the number of removed vectors, by embedder.
type Pruned struct {
	Model   string        `json:"model" doc:"Fingerprint of the current embedder. Its vectors are not removed."`
	Vectors int           `json:"vectors"`
	Models  []PrunedModel `json:"models"`
}

// PrunedModel is the number of removed vectors of one embedder.
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

// ReembedAll queues the jobs that embed all users' memories without vectors. It needs an admin key.
func (c *Client) ReembedAll(ctx context.Context, in ReembedRequest) (AllVectors, error) {
	return post[AllVectors](ctx, c, "/api/reembed/all", in)
}

// VectorsOfAll returns the progress of embedding all users' memories. It needs an admin key.
func (c *Client) VectorsOfAll(ctx context.Context) (AllVectors, error) {
	return get[AllVectors](ctx, c, "/api/reembed/all")
}

// PruneVectors removes vectors of earlier embedders. With All it needs an admin key.
func (c *Client) PruneVectors(ctx context.Context, in PruneRequest) (Pruned, error) {
	return post[Pruned](ctx, c, "/api/reembed/prune", in)
}
