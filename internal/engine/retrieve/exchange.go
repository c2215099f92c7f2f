package retrieve

import (
	"context"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// BesideSearcher is a searcher that begins something else once it has what it needs: see
// [index.Index.Beside].
type BesideSearcher interface {
	Beside(ctx context.Context, begin func()) context.Context
}

// Prepared is what memory has to say to a request.
type Prepared struct {
	Block string       // to put into the prompt, with the conversation's rules before it; "" for nothing
	Kept  []wire.Block // blocks of earlier requests, to be put back
	Hits  []memory.Hit // in the block or in those before it
	Core  recall.Core  // pinned and standing facts and profile entries of the same, less what is among Hits
	Trace string       // "" where not even that is kept
	Read  bool         // whether memory was asked

	Pending int // how many facts wait for a person, a hundred at most
}
