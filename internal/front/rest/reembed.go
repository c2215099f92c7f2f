package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

func (d *door) vectorOperations(a adder) {
	operation(a, http.MethodGet, "/api/reembed", "get-vectors", "How far memories have vectors of the embedder", d.vectors)
	operation(a, http.MethodPost, "/api/reembed", "reembed", "Give memories the vectors that they lack", d.reembed)
	operation(a, http.MethodGet, "/api/reembed/all", "get-vectors-of-all", "How far all users' memories have vectors; for whoever runs the server", d.vectorsOfAll)
	operation(a, http.MethodPost, "/api/reembed/all", "reembed-all", "Give all users' memories the vectors that they lack; for whoever runs the server", d.reembedAll)
	operation(a, http.MethodPost, "/api/reembed/back", "reembed-back", "Go back to the embedder before, from the next start on; for whoever runs the server", d.reembedBack)
	operation(a, http.MethodPost, "/api/reembed/prune", "prune-vectors", "Give up vectors of earlier embedders", d.prune)
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

func (in *reembedInput) dry() bool { return in.Body != nil && in.Body.DryRun }

func (d *door) reembed(ctx context.Context, in *reembedInput) (*body[client.Vectors], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	is, err := d.engine.Reembed(ctx, owner, in.dry(), in.Key)
	if err != nil {
		return nil, err
	}
	return answer(vectorsView(is)), nil
}

func vectorsView(v engine.Vectors) client.Vectors {
	return client.Vectors{Model: v.Model, Memories: v.Memories, Lacking: v.Lacking, UnderWay: v.UnderWay, Error: v.Error}
}

// AllVectors is how far the memories of all users have vectors of the embedder.
type AllVectors struct {
	client.Vectors
	Users    int `json:"users" doc:"That have memories, what everybody shares counted as one."`
	Complete int `json:"complete" doc:"Of those, in whose memory nothing lacks. Each is compared by vector as soon as nearly all of it has one."`
}

// runs refuses who does not run the server.
func runs(ctx context.Context, what string) error {
	if httpx.IdentityOf(ctx).Role != httpx.RoleAdmin {
		return memory.Errorf(memory.Forbidden, "%s is for whoever runs the server", what)
	}
	return nil
}

func (d *door) vectorsOfAll(ctx context.Context, _ *struct{}) (*body[AllVectors], error) {
	if err := runs(ctx, "what all users' memories lack"); err != nil {
		return nil, err
	}
	all, err := d.engine.VectorsOfAll(ctx)
	if err != nil {
		return nil, err
	}
	return answer(AllVectors{vectorsView(all.Vectors), all.Owners, all.Complete}), nil
}

func (d *door) reembedAll(ctx context.Context, in *reembedInput) (*body[AllVectors], error) {
	if err := runs(ctx, "embedding all users' memories"); err != nil {
		return nil, err
	}
	all, err := d.engine.ReembedAll(ctx, in.dry(), in.Key)
	if err != nil {
		return nil, err
	}
	return answer(AllVectors{vectorsView(all.Vectors), all.Owners, all.Complete}), nil
}

// Returned is the way back to an earlier embedder.
type Returned struct {
	From string `json:"from" doc:"The setting embedder that is in use."`
	To   string `json:"to" doc:"The one that is used from the next start on, as long as the setting stays as it is."`
	client.Vectors
}

func (d *door) reembedBack(ctx context.Context, _ *struct{}) (*body[Returned], error) {
	if err := runs(ctx, "another embedder"); err != nil {
		return nil, err
	}
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	to, is, err := d.engine.Back(ctx, owner)
	if err != nil {
		return nil, err
	}
	return answer(Returned{to.From, to.To, vectorsView(is)}), nil
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

type pruneInput struct {
	Body *PruneRequest
}

func (d *door) prune(ctx context.Context, in *pruneInput) (*body[Pruned], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	var asked PruneRequest
	if in.Body != nil {
		asked = *in.Body
	}
	models, err := d.engine.EarlierModels(ctx)
	if err != nil {
		return nil, err
	}
	var gone []engine.Pruned
	if asked.All {
		if err := runs(ctx, "giving up all users' old vectors"); err != nil {
			return nil, err
		}
		gone, err = d.engine.PruneAll(ctx, models, asked.DryRun)
	} else {
		gone, err = d.engine.Prune(ctx, owner, models, asked.DryRun)
	}
	if err != nil {
		return nil, err
	}
	out := Pruned{Model: d.engine.Embedder.Fingerprint(), Models: []PrunedModel{}}
	for _, p := range gone {
		out.Vectors += p.Count
		out.Models = append(out.Models, PrunedModel{p.Model, p.Owners, p.Count})
	}
	return answer(out), nil
}
