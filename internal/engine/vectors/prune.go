package vectors

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// PrunedVectors reports the removed vectors of one embedding model.
type PrunedVectors struct {
	Model  string // embedding model of the vectors
	Owners int    // number of owners with such vectors
	Count  int    // number of removed vectors
}

// switchShare is N: recall uses the new vectors if at most 1/N of the memories lack one.
const switchShare = 100

// Prune removes owners' vectors of other embedders, and returns the numbers of removed vectors. A dry run
// removes nothing. It stops with a [memory.Conflict] at the first owner that does not use the current
// embedder yet, because more than 1 % of the memories lack a vector. It can be repeated after an
// interruption.
func (e *Filler) Prune(ctx context.Context, dryRun bool, owners ...memory.Owner) (pruned []PrunedVectors, err error) {
	for _, owner := range owners {
		result, _, _, err := e.missingVectors(ctx, owner, 0)
		if err != nil {
			return nil, err
		}
		if result.Lacking*switchShare > result.Memories && !dryRun {
			return nil, memory.Errorf(memory.Conflict, "%d of %d memories of %s lack a vector of model %s; old vectors can be removed once nearly all memories have one", result.Lacking, result.Memories, owner, result.Model)
		}
		models, err := e.Store.VectorModels(ctx, owner)
		if err != nil {
			return nil, fmt.Errorf("find old vectors of %s: %w", owner, err)
		}
		for _, model := range models {
			if model == result.Model {
				continue
			}
			n, err := e.pruneModel(ctx, owner, model, dryRun)
			if err != nil {
				return nil, fmt.Errorf("remove vectors of %s of model %s: %w", owner, model, err)
			}
			if n > 0 {
				i := slices.IndexFunc(pruned, func(p PrunedVectors) bool { return p.Model == model })
				if i < 0 {
					i, pruned = len(pruned), append(pruned, PrunedVectors{Model: model})
				}
				pruned[i].Owners++
				pruned[i].Count += n
			}
		}
	}
	slices.SortFunc(pruned, func(a, b PrunedVectors) int { return cmp.Compare(a.Model, b.Model) })
	return pruned, nil
}

// PruneAll calls [Filler.Prune] for all owners. It also removes the copies of earlier embedders' vectors on a
// vector server; Loci can rebuild these copies.
func (e *Filler) PruneAll(ctx context.Context, dryRun bool) ([]PrunedVectors, error) {
	owners, err := e.Store.Owners(ctx)
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	pruned, err := e.Prune(ctx, dryRun, owners...)
	if copies, ok := e.Searcher.(interface{ DropEarlier(context.Context) error }); ok && err == nil && !dryRun {
		err = copies.DropEarlier(ctx)
	}
	return pruned, err
}

// pruneModel overwrites a model's vectors with empty vectors, which stores treat as missing.
func (e *Filler) pruneModel(ctx context.Context, owner memory.Owner, model string, dryRun bool) (int, error) {
	var ids []string
	if _, err := e.Store.Since(ctx, owner, model, 0, func(item memory.IndexItem) error {
		if len(item.Vector) > 0 {
			ids = append(ids, item.ID)
		}
		return nil
	}); err != nil || dryRun {
		return len(ids), err
	}
	for batch := range slices.Chunk(ids, EmbedBatch) {
		run := memory.Run{ID: core.NewID(), Kind: "embed", Author: byEmbedder}
		for _, id := range batch {
			run.Vectors = append(run.Vectors, memory.Vector{Memory: id, Model: model})
		}
		if _, err := e.Store.Apply(ctx, owner, run); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}
