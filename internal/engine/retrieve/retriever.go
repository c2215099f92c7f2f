// Package retrieve answers a question from memory: it asks the index and the store, lets package
// recall rank, and renders the block for a prompt.
package retrieve

import (
	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Retriever answers questions from memory: hits and the block for a prompt.
type Retriever struct {
	*core.Core
	Traces  *traces.Keeper
	Compare *compare.Comparer

	embeds, reranks pace // of local models
}

// Prepared is what memory has to say to a request.
type Prepared struct {
	Block string          // to put into the prompt, with the conversation's rules before it; "" for nothing
	Kept  []chatapi.Block // blocks of earlier requests, to be put back
	Hits  []memory.Hit    // in the block or in those before it
	Core  recall.Core     // facts of the core and profile entries of the same, less what is among Hits
	Trace string          // "" where not even that is kept
	Read  bool            // whether memory was asked

	Untold  bool // whether the trace has no words
	Pending int  // how many facts wait for a person, a hundred at most
}

// Rendering is how blocks are written; later says that the prompt has one already.
func (e *Retriever) Rendering(later bool) recall.RenderOptions {
	return recall.RenderOptions{Heading: e.Opts.Recall.Heading, Hint: e.Opts.Recall.Hint, Roles: e.Opts.Recall.Roles, Later: later}
}
