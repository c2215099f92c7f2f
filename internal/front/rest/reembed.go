package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine"
)

func (d *door) vectorOperations(a adder) {
	operation(a, http.MethodGet, "/api/reembed", "get-vectors", "How far memories have vectors of the embedder", d.vectors)
	operation(a, http.MethodPost, "/api/reembed", "reembed", "Give memories the vectors that they lack", d.reembed)
}

func (d *door) vectors(ctx context.Context, _ *struct{}) (*body[client.Vectors], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	is, err := d.engine.Vectors(ctx, owner)
	if err != nil {
		return nil, err
	}
	return answer(vectorsView(is)), nil
}

type reembedInput struct {
	Idempotent
	Body *client.ReembedRequest
}

func (d *door) reembed(ctx context.Context, in *reembedInput) (*body[client.Vectors], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	is, err := d.engine.Reembed(ctx, owner, in.Body != nil && in.Body.DryRun, in.Key)
	if err != nil {
		return nil, err
	}
	return answer(vectorsView(is)), nil
}

func vectorsView(v engine.Vectors) client.Vectors {
	return client.Vectors{Model: v.Model, Memories: v.Memories, Lacking: v.Lacking, UnderWay: v.UnderWay, Error: v.Error}
}
