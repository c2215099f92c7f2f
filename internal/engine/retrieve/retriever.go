// Package retrieve answers a question from memory: it queries the index and the store, lets package
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

// Prepared is the memory for a request.
type Prepared struct {
	Block string          // for the prompt, with the conversation's rules before it; "" for nothing
	Kept  []chatapi.Block // blocks of earlier requests to restore
	Hits  []memory.Hit    // in the block or earlier ones
	Core  recall.Core     // facts of the core and equal profile entries, without Hits
	Trace string          // "" if not even that is stored
	Read  bool            // whether memory was read

	Untold  bool // whether the trace has no text
	Pending int  // number of pending facts, at most a hundred
}

// Rendering returns the options of blocks; later: the prompt has an earlier one.
func (e *Retriever) Rendering(later bool) recall.RenderOptions {
	return recall.RenderOptions{Heading: e.Opts.Recall.Heading, Hint: e.Opts.Recall.Hint, Roles: e.Opts.Recall.Roles, Later: later}
}
