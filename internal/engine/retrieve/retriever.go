// Package retrieve answers questions from memory: it queries the index and the store, ranks by
// package recall, and renders the block for a prompt.
package retrieve

import (
	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Retriever answers questions from memory. It returns hits and the block for a prompt.
type Retriever struct {
	*core.Core
	Traces  *traces.Keeper
	Compare *compare.Comparer

	embeds, reranks pace // of local models
}

// Prepared is the memory for a request.
type Prepared struct {
	Block string          // for the prompt, with the conversation's rules before it; may be ""
	Kept  []chatapi.Block // blocks of earlier requests that are restored
	Hits  []memory.Hit    // memories in this block or in earlier ones
	Core  recall.Core     // core facts and profile entries in the block that are not among Hits
	Trace string          // id of the trace; "": none was stored
	Read  bool            // whether memory was read

	TextlessTrace bool // true if the trace has no text
	Pending       int  // number of pending facts, counted up to a hundred
}

// Rendering returns the options for rendering. later: the prompt has an earlier block.
func (e *Retriever) Rendering(later bool) recall.RenderOptions {
	return recall.RenderOptions{Heading: e.Opts.Recall.Heading, Hint: e.Opts.Recall.Hint, Roles: e.Opts.Recall.Roles, Later: later}
}
