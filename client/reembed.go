package client

import (
	"context"
)

// ReembedRequest asks Loci to embed memories without vectors.
type ReembedRequest struct {
	DryRun bool `json:"dry_run,omitempty" doc:"Only return the number of memories without vectors."`
}

// Vectors is the progress of embedding memories.
type Vectors struct {
	Model    string `json:"model" doc:"Identifies the embedder; changes with everything that affects the vectors."`
	Memories int    `json:"memories" doc:"Number of memories that have or should have a vector."`
	Lacking  int    `json:"lacking" doc:"Number of these memories without a vector. If it exceeds 1 %, searches use only words."`
	UnderWay bool   `json:"under_way,omitempty" doc:"Whether a job is embedding the memories or queued."`
	Error    string `json:"error,omitempty" doc:"Error of the job, which will be retried."`
}

// AllVectors is the progress of embedding all users' memories.
type AllVectors struct {
	Vectors
	Users    int `json:"users" doc:"Number of users with memories; global memory counts as one user."`
	Complete int `json:"complete" doc:"Number of users whose memories all have a vector. Searches use vectors once nearly all of a user's memories have one."`
}

// PruneRequest asks to remove old vectors.
type PruneRequest struct {
	DryRun bool `json:"dry_run,omitempty" doc:"Only return the number of vectors."`
	All    bool `json:"all,omitempty" doc:"Vectors of all users; only for administrators."`
}

// Pruned tells which vectors were removed.
type Pruned struct {
	Model   string        `json:"model" doc:"The current embedder, whose vectors stay."`
	Vectors int           `json:"vectors"`
	Models  []PrunedModel `json:"models"`
}

// PrunedModel tells how many vectors of one embedder were removed.
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

// ReembedAll queues the jobs that embed all users' memories without vectors. This method and the
// following ones need an admin key, except for pruning one's own vectors.
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
