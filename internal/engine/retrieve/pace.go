package retrieve

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
)

// paceOf is how many of a model's last times tell how long it takes.
const paceOf = 16

// pace is how long a local model takes here. The zero pace is of one that was never asked.
type pace struct {
	mu   sync.Mutex      // guards took
	took []time.Duration // oldest first
}

// see notes how long the model took.
func (p *pace) see(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.took) == paceOf {
		p.took = slices.Delete(p.took, 0, 1)
	}
	p.took = append(p.took, took)
}

// beyond returns how much longer than its share the model may take: up to twice the second longest of
// its last times, so that one stall changes nothing. It is most before anything is known.
func (p *pace) beyond(share, most time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.took) == 0 {
		return most
	}
	longest := slices.Sorted(slices.Values(p.took))
	return min(most, max(0, 2*longest[max(0, len(longest)-2)]-share))
}

// The shares of the deadline of words that a part of recall leaves to what follows it.
const (
	searchLeaves = 0.2  // a search, to read recent facts after one that hangs
	rerankLeaves = 0.36 // a reranker
	embedLeaves  = 0.6  // an embedder, to search by words
)

// Deadline is how long recall in a chat may take: as long as words may, and longer where a local
// model takes longer than its share of that, up to the bound.
func (e *Retriever) Deadline() time.Duration {
	embedder, reranker := e.extra()
	return e.Opts.Deadline + embedder + reranker
}

// extra is what local models may take beyond their shares of the deadline of words, the embedder
// first.
func (e *Retriever) extra() (embedder, reranker time.Duration) {
	spare := max(0, e.Opts.DeadlineMax-e.Opts.Deadline)
	if !core.Remote(e.Embedder) && !core.OfWords(e.Embedder) {
		embedder = e.embeds.beyond(e.share(1-embedLeaves), spare)
	}
	if e.Reranker != nil && !core.Remote(e.Reranker) {
		reranker = e.reranks.beyond(e.share(embedLeaves-rerankLeaves), spare-embedder)
	}
	return embedder, reranker
}

func (e *Retriever) share(of float64) time.Duration {
	return time.Duration(of * float64(e.Opts.Deadline))
}

// before returns a context that ends so long before ctx's deadline, after half of the time left at
// the earliest.
func before(ctx context.Context, leave time.Duration) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	left := time.Until(end)
	return context.WithTimeout(ctx, max(left/2, left-leave))
}
