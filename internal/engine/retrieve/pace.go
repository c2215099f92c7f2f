package retrieve

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
)

// paceSamples is the number of recent durations of a model that are stored.
const paceSamples = 16

// recentDurations are the recent durations of a local model's calls.
type pace struct {
	mu   sync.Mutex      // guards durations
	took []time.Duration // oldest first
}

// add stores a duration and drops the oldest beyond [paceSamples].
func (p *pace) see(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.took) == paceSamples {
		p.took = slices.Delete(p.took, 0, 1)
	}
	p.took = append(p.took, took)
}

// extraTime returns by how much the model may exceed its share: up to twice the second longest recent
// duration, so that one slow call changes nothing. Without durations it returns limit.
func (p *pace) extraTime(share, most time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.took) == 0 {
		return most
	}
	longest := slices.Sorted(slices.Values(p.took))
	return min(most, max(0, 2*longest[max(0, len(longest)-2)]-share))
}

// Shares of the word search's deadline that a step leaves for later steps.
const (
	searchLeaves = 0.2  // after a search, for reading recent facts
	rerankLeaves = 0.36 // after reranking, for rendering
	embedLeaves  = 0.6  // after embedding, for a search by words
)

// Deadline returns the time limit of recall in a chat: Options.Deadline, extended up to MaxDeadline for
// slow local models.
func (e *Retriever) Deadline() time.Duration {
	embedder, reranker := e.extra()
	return e.Opts.Deadline + embedder + reranker
}

// extraTimes returns by how much the local models may exceed their shares of the word search's deadline.
// The embedder gets extra time first.
func (e *Retriever) extra() (embedder, reranker time.Duration) {
	spare := max(0, e.Opts.DeadlineMax-e.Opts.Deadline)
	if !core.Remote(e.Embedder) && !core.OfWords(e.Embedder) {
		embedder = e.embeds.extraTime(e.share(1-embedLeaves), spare)
	}
	if e.Reranker != nil && !core.Remote(e.Reranker) {
		reranker = e.reranks.extraTime(e.share(embedLeaves-rerankLeaves), spare-embedder)
	}
	return embedder, reranker
}

func (e *Retriever) share(of float64) time.Duration {
	return time.Duration(of * float64(e.Opts.Deadline))
}

// contextBefore returns a context that ends reserve before ctx's deadline, but not before half of the
// remaining time. Without a deadline the context ends after limit; 0 means never.
func contextBefore(ctx context.Context, leave, most time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		most = max(time.Until(end)/2, time.Until(end)-leave)
	} else if most == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, most)
}
