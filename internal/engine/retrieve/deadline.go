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
type recentDurations struct {
	mu        sync.Mutex      // guards durations
	durations []time.Duration // oldest first
}

// add stores a duration and drops the oldest beyond [paceSamples].
func (p *recentDurations) add(duration time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.durations) == paceSamples {
		p.durations = slices.Delete(p.durations, 0, 1)
	}
	p.durations = append(p.durations, duration)
}

// extraTime returns by how much a model may exceed its share of the deadline, at most limit. The model gets
// twice its second longest recent duration, or share + limit if no duration is known.
func (p *recentDurations) extraTime(share, limit time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.durations) == 0 {
		return limit
	}
	longest := slices.Sorted(slices.Values(p.durations))
	return min(limit, max(0, 2*longest[max(0, len(longest)-2)]-share))
}

// Fractions of Options.Deadline that a step leaves for later steps.
const (
	searchReserve = 0.2  // after a search, for reading recent facts
	rerankReserve = 0.36 // after reranking, for rendering
	embedReserve  = 0.6  // after embedding, for a search by words
)

// Deadline returns the time limit of recall in a chat: Options.Deadline, extended up to SlowModelDeadline for
// slow local models.
func (e *Retriever) Deadline() time.Duration {
	embedderExtra, rerankerExtra := e.extraTimes()
	return e.Opts.Deadline + embedderExtra + rerankerExtra
}

// extraTimes returns by how much the local models may exceed their shares of Options.Deadline. The embedder
// gets extra time first.
func (e *Retriever) extraTimes() (embedderExtra, rerankerExtra time.Duration) {
	maxExtra := max(0, e.Opts.SlowModelDeadline-e.Opts.Deadline)
	if !core.IsRemote(e.Embedder) && !core.IsLexical(e.Embedder) {
		embedderExtra = e.embedTimes.extraTime(e.deadlineShare(1-embedReserve), maxExtra)
	}
	if e.Reranker != nil && !core.IsRemote(e.Reranker) {
		rerankerExtra = e.rerankTimes.extraTime(e.deadlineShare(embedReserve-rerankReserve), maxExtra-embedderExtra)
	}
	return embedderExtra, rerankerExtra
}

func (e *Retriever) deadlineShare(fraction float64) time.Duration {
	return time.Duration(fraction * float64(e.Opts.Deadline))
}

// contextWithReserve returns a context that ends reserve before ctx's deadline, but not before half of the
// remaining time. Without a deadline the context ends after limit; 0 means never.
func contextWithReserve(ctx context.Context, reserve, limit time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		limit = max(time.Until(end)/2, time.Until(end)-reserve)
	} else if limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}
