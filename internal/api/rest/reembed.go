package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/vectors"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

func (d learningAPI) vectorOperations(a adder) {
	owned(a, http.MethodGet, "/api/reembed", "get-vectors", "How far memories have vectors of the embedder", d.vectors)
	owned(a, http.MethodPost, "/api/reembed", "reembed", "Give memories the vectors that they lack", d.reembed)
	operation(a, http.MethodGet, "/api/reembed/all", "get-vectors-of-all", "How far all users' memories have vectors; for whoever runs the server", d.vectorsOfAll)
	operation(a, http.MethodPost, "/api/reembed/all", "reembed-all", "Give all users' memories the vectors that they lack; for whoever runs the server", d.reembedAll)
	owned(a, http.MethodPost, "/api/reembed/prune", "prune-vectors", "Give up vectors of earlier embedders", d.prune)
}

func (d learningAPI) vectors(ctx context.Context, by caller, _ *struct{}) (client.Vectors, error) {
	return viewed(vectorsView)(d.engine.Vectors.Vectors(ctx, by.owner))
}

type reembedInput struct {
	Idempotent
	Body *client.ReembedRequest
}

func (in *reembedInput) dry() bool { return in.Body != nil && in.Body.DryRun }

func (d learningAPI) reembed(ctx context.Context, by caller, in *reembedInput) (client.Vectors, error) {
	return viewed(vectorsView)(d.engine.Vectors.Reembed(ctx, by.owner, in.dry(), in.Key))
}

func vectorsView(v vectors.Vectors) client.Vectors {
	return client.Vectors{Model: v.Model, Memories: v.Memories, Lacking: v.Lacking, UnderWay: v.UnderWay, Error: v.Error}
}

func allVectorsView(v vectors.Everyone) client.AllVectors {
	return client.AllVectors{Vectors: vectorsView(v.Vectors), Users: v.Owners, Complete: v.Complete}
}

// runs refuses who does not run the server.
func runs(ctx context.Context, what string) error {
	if httpx.IdentityOf(ctx).Role != httpx.RoleAdmin {
		return memory.Errorf(memory.Forbidden, "%s is for whoever runs the server", what)
	}
	return nil
}

func (d learningAPI) vectorsOfAll(ctx context.Context, _ *struct{}) (*body[client.AllVectors], error) {
	if err := runs(ctx, "what all users' memories lack"); err != nil {
		return nil, err
	}
	all, err := d.engine.Vectors.ReembedAll(ctx, true, "")
	if err != nil {
		return nil, err
	}
	return answer(allVectorsView(all)), nil
}

func (d learningAPI) reembedAll(ctx context.Context, in *reembedInput) (*body[client.AllVectors], error) {
	if err := runs(ctx, "embedding all users' memories"); err != nil {
		return nil, err
	}
	all, err := d.engine.Vectors.ReembedAll(ctx, in.dry(), in.Key)
	if err != nil {
		return nil, err
	}
	return answer(allVectorsView(all)), nil
}

type pruneInput struct {
	Body *client.PruneRequest
}

func (d learningAPI) prune(ctx context.Context, by caller, in *pruneInput) (out client.Pruned, err error) {
	var asked client.PruneRequest
	if in.Body != nil {
		asked = *in.Body
	}
	var gone []vectors.Pruned
	if asked.All {
		if err := runs(ctx, "giving up all users' old vectors"); err != nil {
			return out, err
		}
		gone, err = d.engine.Vectors.PruneAll(ctx, asked.DryRun)
	} else {
		gone, err = d.engine.Vectors.Prune(ctx, asked.DryRun, by.owner)
	}
	if err != nil {
		return out, err
	}
	out = client.Pruned{Model: d.engine.Embedder.Fingerprint(), Models: []client.PrunedModel{}}
	for _, p := range gone {
		out.Vectors += p.Count
		out.Models = append(out.Models, client.PrunedModel{Model: p.Model, Users: p.Owners, Vectors: p.Count})
	}
	return out, nil
}
