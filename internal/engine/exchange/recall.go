package exchange

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// RecallBlock renders recalled memories for a client that adds the block to its prompt. It omits the
// turns of the asking conversation and facts learned only from these turns. While memory is paused it
// returns nothing.
func (e *Exchanges) RecallBlock(ctx context.Context, q retrieve.Question) (retrieve.Result, error) {
	pause := e.CurrentPause(ctx, q.Scope.Owner)
	if pause == core.PauseUnknown {
		return retrieve.Result{}, core.ErrPauseUnknown
	}
	if pause == core.PauseMemory {
		return retrieve.Result{Pause: pause}, nil
	}
	if q.AskingConversation != "" {
		turns, err := e.readBranches(ctx, q.Scope.Owner, q.AskingConversation)
		if err != nil {
			return retrieve.Result{}, fmt.Errorf("read the conversation of the question: %w", err)
		}
		q.ExcludeIDs, q.RequestTexts = make(map[string]bool, len(turns)), []string{q.Text}
		for _, t := range turns {
			q.ExcludeIDs[t.ID] = true // includes turns that were edited or that the client will replace
			if t.Status == memory.Active {
				q.RequestTexts = append(q.RequestTexts, t.Content)
			}
		}
	}
	q.Budget = e.Opts.BlockTokens
	p, r, elapsed := e.Retrieve.Prepare(ctx, q)
	r.StoreTrace(p.TraceID, p.Block, elapsed)
	return retrieve.Result{Hits: p.Hits, TraceID: p.TraceID, Degraded: r.Degraded, Misspelt: recall.WholeWordCorrections(r.Misspelt, r.Hits), Block: p.Block, Pause: pause}, nil
}
