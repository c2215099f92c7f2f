// Package retrieve answers questions from memory: it queries the index and the store, ranks with
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

	embedTimes, rerankTimes recentDurations // recent durations of local models
}

// PromptMemory is the memory for one prompt.
type PromptMemory struct {
	Block      string          // text for the prompt, after the conversation's rules; may be empty
	KeptBlocks []chatapi.Block // blocks of earlier requests, sent again
	Hits       []memory.Hit    // memories in this block or in earlier blocks
	Core       recall.Core     // core facts and profile entries in the block that are not in Hits
	TraceID    string          // id of the trace; "": no trace was stored
	WasRead    bool            // true if memory was read

	TextlessTrace bool // true if the trace has no text
	PendingCount  int  // number of pending facts, at most 100
}

// RenderOptions returns the options for a block. hasEarlierBlock means that the prompt has an earlier block.
func (e *Retriever) RenderOptions(hasEarlierBlock bool) recall.RenderOptions {
	return recall.RenderOptions{Heading: e.Opts.Recall.BlockHeading, Hint: e.Opts.Recall.BlockHint, ShowRoles: e.Opts.Recall.ShowRoles, HasEarlierBlock: hasEarlierBlock}
}
