package vectors

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

// Earlier is what is known of the embedders that memory had before the one in use.
type Earlier interface {
	// Models returns the fingerprints of other embedders by which there may be vectors.
	Models(ctx context.Context) ([]string, error)

	// Back notes that the embedder before this one is to be used again, from the next
	// start on. Noted twice, it is the same. [memory.NotFound]: there was none;
	// [memory.Invalid]: it cannot be had any more.
	Back(ctx context.Context) (Return, error)
}

// Return is the way back to an earlier embedder.
type Return struct {
	From, To string // settings, as embedder has them
	Model    string // the fingerprint of the one gone back to
}

// Knows tells the engine of the embedders that there were. It is called before anything
// else.
func (e *Filler) Knows(of Earlier) { e.Giving.earlier = of }

// Back goes back to the embedder before the one in use, from the next start on, and
// says how far the owner's memories still have its vectors: what lacks one gets one in
// the background then.
func (e *Filler) Back(ctx context.Context, owner memory.Owner) (Return, Vectors, error) {
	if e.Giving.earlier == nil {
		return Return{}, Vectors{}, memory.Errorf(memory.NotFound, "nothing is known of an earlier embedder")
	}
	to, err := e.Giving.earlier.Back(ctx)
	if err != nil {
		return to, Vectors{}, err
	}
	is, _, _, err := e.lackingOf(ctx, to.Model, owner, 0)
	return to, is, err
}

// EarlierModels returns the fingerprints of embedders not in use by which there may be
// vectors.
func (e *Filler) EarlierModels(ctx context.Context) ([]string, error) {
	if e.Giving.earlier == nil {
		return nil, nil
	}
	return e.Giving.earlier.Models(ctx)
}
