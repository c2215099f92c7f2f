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
func (e *Exchanges) RecallBlock(ctx context.Context, q retrieve.Question) (retrieve.Found, error) {
	pause := e.Paused(ctx, q.Scope.Owner)
	if pause == core.PauseUnknown {
		return retrieve.Found{}, core.ErrPauseUnknown
	}
	if pause == core.PauseMemory {
		return retrieve.Found{Pause: pause}, nil
	}
	if q.In != "" {
		turns, err := e.branches(ctx, q.Scope.Owner, q.In)
		if err != nil {
			return retrieve.Found{}, fmt.Errorf("read the conversation of the question: %w", err)
		}
		q.Exclude, q.Messages = make(map[string]bool, len(turns)), []string{q.Text}
		for _, t := range turns {
			q.Exclude[t.ID] = true // includes turns that were edited or that the client will replace
			if t.Status == memory.Active {
				q.Messages = append(q.Messages, t.Content)
			}
		}
	}
	q.Budget = e.Opts.Budget
	p, r, took := e.Retrieve.Prepare(ctx, q)
	r.Trace(p.Trace, p.Block, took)
	return retrieve.Found{Hits: p.Hits, Trace: p.Trace, Degraded: r.Degraded, Misspelt: recall.ShownCorrections(r.Misspelt, r.Hits), Block: p.Block, Pause: pause}, nil
}
