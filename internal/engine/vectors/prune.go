package vectors

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// Pruned is the receipt of vectors that were given up.
type Pruned struct {
	Model  string // whose vectors they were
	Owners int    // that had any
	Count  int
}

// switchShare is of how many memories one may lack a vector for recall to use the
// others': as package index has it.
const switchShare = 100

// Prune gives up an owner's vectors of earlier embedders, and returns how many of each
// there were, those with none left out; in a dry run how many there are. To go back to
// one of them then means to embed all anew.
//
//   - [memory.Invalid]: one of them is the embedder in use.
//   - [memory.Conflict]: more than one memory in a hundred lacks a vector of the embedder
//     in use, so that recall has not switched to it yet.
//
// Broken off, it may be begun again. What recall does not see any more keeps its vectors until it
// is erased.
func (e *Filler) Prune(ctx context.Context, owner memory.Owner, models []string, dry bool) ([]Pruned, error) {
	if slices.Contains(models, e.Embedder.Fingerprint()) {
		return nil, memory.Errorf(memory.Invalid, "%s is in use: its vectors stay", e.Embedder.Fingerprint())
	}
	is, _, _, err := e.missingVectors(ctx, owner, 0)
	if err != nil {
		return nil, err
	}
	if is.Lacking*switchShare > is.Memories && !dry {
		return nil, memory.Errorf(memory.Conflict, "%d of %d memories lack a vector by %s: old vectors are given up once nearly all have one", is.Lacking, is.Memories, is.Model)
	}
	var out []Pruned
	for _, model := range models {
		n, err := e.prune(ctx, owner, model, dry)
		if err != nil {
			return out, err
		}
		if n > 0 {
			out = append(out, Pruned{Model: model, Owners: 1, Count: n})
		}
	}
	return out, nil
}

// PruneAll is [Filler.Prune] for every owner. It stops at the first who cannot be
// pruned yet, and returns what was given up until then. Then copies of these vectors on another
// server go: they can be made again.
func (e *Filler) PruneAll(ctx context.Context, models []string, dry bool) ([]Pruned, error) {
	owners, err := e.owners(ctx)
	if err != nil {
		return nil, err
	}
	var all []Pruned
	for _, owner := range owners {
		some, err := e.Prune(ctx, owner, models, dry)
		for _, p := range some {
			i := slices.IndexFunc(all, func(q Pruned) bool { return q.Model == p.Model })
			if i < 0 {
				all = append(all, p)
				continue
			}
			all[i].Owners++
			all[i].Count += p.Count
		}
		if err != nil {
			return all, fmt.Errorf("old vectors of %s: %w", owner, err)
		}
	}
	if copies, ok := e.Searcher.(interface{ DropEarlier(context.Context) error }); ok && !dry {
		return all, copies.DropEarlier(ctx)
	}
	return all, nil
}

// prune puts nothing in the place of a model's vectors: the contract of a store says
// that the last vector by a model counts, and an empty one is none.
func (e *Filler) prune(ctx context.Context, owner memory.Owner, model string, dry bool) (n int, err error) {
	var ids []string
	if _, err := e.Store.Since(ctx, owner, model, 0, func(item memory.Item) error {
		if len(item.Vector) > 0 {
			ids = append(ids, item.ID)
		}
		return nil
	}); err != nil {
		return 0, fmt.Errorf("look for vectors by %s: %w", model, err)
	}
	if dry {
		return len(ids), nil
	}
	for batch := range slices.Chunk(ids, EmbedAtOnce) {
		run := memory.Run{ID: core.NewID(), Kind: "embed", Author: byEmbedder}
		for _, id := range batch {
			run.Vectors = append(run.Vectors, memory.Vector{Memory: id, Model: model})
		}
		if _, err := e.Store.Apply(ctx, owner, run); err != nil {
			return n, fmt.Errorf("give up vectors by %s: %w", model, err)
		}
		n += len(batch)
	}
	return n, nil
}
