package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/vectors"
)

type reembedInput struct {
	Idempotent
	Body *client.ReembedRequest
}

func (in *reembedInput) isDryRun() bool { return in.Body != nil && in.Body.DryRun }

func (d *handler) addVectorOperations(a registrar) {
	registerForCaller(a, http.MethodGet, "/api/reembed", "get-vectors", "Show how many memories have vectors of the current embedder", func(ctx context.Context, by caller, _ *struct{}) (client.Vectors, error) {
		return mapResult(vectorsView)(d.engine.Vectors.Progress(ctx, by.owner))
	})
	registerForCaller(a, http.MethodPost, "/api/reembed", "reembed", "Embed memories that have no vector", func(ctx context.Context, by caller, in *reembedInput) (client.Vectors, error) {
		return mapResult(vectorsView)(d.engine.Vectors.Reembed(ctx, by.owner, in.isDryRun(), in.Key))
	})
	registerForAdmin(a, http.MethodGet, "/api/reembed/all", "get-vectors-of-all", "Show how many memories of all users have vectors; for admins", "the vectors of all users are for admins only", func(ctx context.Context, _ *struct{}) (client.AllVectors, error) {
		return mapResult(allVectorsView)(d.engine.Vectors.ReembedAll(ctx, true, ""))
	})
	registerForAdmin(a, http.MethodPost, "/api/reembed/all", "reembed-all", "Embed memories of all users that have no vector; for admins", "the vectors of all users are for admins only", func(ctx context.Context, in *reembedInput) (client.AllVectors, error) {
		return mapResult(allVectorsView)(d.engine.Vectors.ReembedAll(ctx, in.isDryRun(), in.Key))
	})
	registerForCaller(a, http.MethodPost, "/api/reembed/prune", "prune-vectors", "Delete vectors of earlier embedders", d.pruneVectors)
}

func vectorsView(v vectors.EmbedProgress) client.Vectors {
	return client.Vectors{Model: v.Model, Memories: v.Memories, Lacking: v.Lacking, UnderWay: v.UnderWay, Error: v.Error}
}

func allVectorsView(v vectors.TotalProgress) client.AllVectors {
	return client.AllVectors{Vectors: vectorsView(v.EmbedProgress), Users: v.Owners, CompleteUsers: v.Complete}
}

func (d *handler) pruneVectors(ctx context.Context, by caller, in *body[*client.PruneRequest]) (out client.Pruned, err error) {
	var req client.PruneRequest
	if in.Body != nil {
		req = *in.Body
	}
	var pruned []vectors.PrunedVectors
	if req.All {
		if err := requireAdmin(ctx, "the vectors of all users are for admins only"); err != nil {
			return out, err
		}
		pruned, err = d.engine.Vectors.PruneAll(ctx, req.DryRun)
	} else {
		pruned, err = d.engine.Vectors.Prune(ctx, req.DryRun, by.owner)
	}
	out = client.Pruned{Model: d.engine.Embedder.Fingerprint(), Models: []client.PrunedModel{}}
	for _, p := range pruned {
		out.Vectors += p.Count
		out.Models = append(out.Models, client.PrunedModel{Model: p.Model, Users: p.Owners, Vectors: p.Count})
	}
	return out, err
}
