package vectors

import (
	"cmp"
	"context"
	"fmt"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// Everyone is how far the memories of all owners have vectors of the embedder. Each
// owner's recall begins to use them by itself, once nearly all of that owner's are there.
type Everyone struct {
	Vectors      // of all together; Error is one of theirs
	Owners   int // that have memories
	Complete int // of those, in whose memory nothing lacks
}

// owners returns whose memory there is.
func (e *Filler) owners(ctx context.Context) ([]memory.Owner, error) {
	owners, err := e.Store.Owners(ctx)
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	return owners, nil
}

// VectorsOfAll says how far all owners' memories have vectors.
func (e *Filler) VectorsOfAll(ctx context.Context) (Everyone, error) {
	owners, err := e.owners(ctx)
	if err != nil {
		return Everyone{}, err
	}
	return e.vectorsOf(ctx, owners, func(memory.Owner, *Vectors) error { return nil })
}

// ReembedAll does for each owner what [Filler.Reembed] does for one. The jobs are in
// the store: killed midway, each owner's goes on where it was.
func (e *Filler) ReembedAll(ctx context.Context, dry bool, key string) (Everyone, error) {
	owners, err := e.owners(ctx)
	if err != nil {
		return Everyone{}, err
	}
	return e.vectorsOf(ctx, owners, func(owner memory.Owner, is *Vectors) error {
		if dry || is.Lacking == 0 || is.UnderWay {
			return nil
		}
		is.UnderWay = true
		return e.queueVectors(ctx, owner, core.IDFor(owner, key))
	})
}

// vectorsOf adds up how far owners are, and calls each with those that have memories.
// What was found of an owner is kept until that owner is written again, so that it can
// be asked often.
func (e *Filler) vectorsOf(ctx context.Context, owners []memory.Owner, each func(memory.Owner, *Vectors) error) (all Everyone, err error) {
	versions, err := e.Store.Versions(ctx, owners)
	if err != nil {
		return all, fmt.Errorf("read versions: %w", err)
	}
	all.Model = e.Embedder.Fingerprint()
	e.Giving.begin(e.Embedder)
	for i, owner := range owners {
		seen, known := e.Giving.counted.Get(owner)
		is := seen.is
		if !known || seen.version != versions[i] {
			if is, err = e.Vectors(ctx, owner); err != nil {
				return all, fmt.Errorf("vectors of %s: %w", owner, err)
			}
			if is.Lacking == 0 && !is.UnderWay { // what is written meanwhile is seen at the next version
				e.Giving.counted.Set(owner, complete{versions[i], is})
			}
		}
		if is.Memories == 0 {
			continue
		}
		if err := each(owner, &is); err != nil {
			return all, fmt.Errorf("vectors of %s: %w", owner, err)
		}
		all.Owners++
		if is.Lacking == 0 {
			all.Complete++
		}
		all.Memories += is.Memories
		all.Lacking += is.Lacking
		all.UnderWay = all.UnderWay || is.UnderWay
		all.Error = cmp.Or(all.Error, is.Error)
	}
	return all, nil
}

// complete is what was found of an owner in whose memory nothing lacked: what lacks changes
// without a version, since jobs come and fail.
type complete struct {
	version int64
	is      Vectors
}
