package engine

import (
	"context"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	tracesKept    = 1000            // of each owner, in the store
	tracesPending = 4096            // in memory, before the oldest are dropped
	traceInterval = 2 * time.Second // between writes
)

// traceRing holds traces until they are written, off the path of requests. It
// is bounded: under a flood the oldest unwritten ones are lost, never a request
// delayed.
type traceRing struct {
	mu      sync.Mutex
	pending []memory.Trace // guarded by mu
}

func newTraceRing() *traceRing { return &traceRing{} }

func (r *traceRing) add(t memory.Trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) >= tracesPending {
		r.pending = append(r.pending[:0], r.pending[tracesPending/2:]...)
	}
	r.pending = append(r.pending, t)
}

func (r *traceRing) find(owner memory.Owner, id string) (memory.Trace, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.pending {
		if t.ID == id && t.Owner == owner {
			return t, true
		}
	}
	return memory.Trace{}, false
}

// degrade adds to a trace that is still here what went wrong after it was made.
func (r *traceRing) degrade(id, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.pending {
		if r.pending[i].ID == id {
			r.pending[i].Degraded = append(r.pending[i].Degraded, what)
		}
	}
}

func (r *traceRing) take() []memory.Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.pending
	r.pending = nil
	return out
}

// Trace returns what one request asked and was given.
func (e *Engine) Trace(ctx context.Context, owner memory.Owner, id string) (memory.Trace, error) {
	if t, ok := e.traces.find(owner, id); ok {
		return t, nil
	}
	return e.Store.Trace(ctx, owner, id)
}

// Run writes traces every now and then until ctx ends, and once more then.
func (e *Engine) Run(ctx context.Context) error {
	tick := time.NewTicker(traceInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.writeTraces(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceInterval)
			defer cancel()
			e.writeTraces(last)
			return nil
		}
	}
}

func (e *Engine) writeTraces(ctx context.Context) {
	if batch := e.traces.take(); len(batch) > 0 {
		if err := e.Store.SaveTraces(ctx, tracesKept, batch...); err != nil {
			e.Log.Warn("traces were not written", "count", len(batch), "err", err)
		}
	}
}
