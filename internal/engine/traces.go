package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	tracesKept    = 1000            // of each owner, in the store
	tracesPending = 1024            // in memory, at some 10 kB each, before the oldest are dropped
	traceInterval = 2 * time.Second // between writes
	tracesAtOnce  = 64              // in a transaction, so that other writes do not wait for long
)

// traceRing holds traces until they are written, off the path of requests. It
// is bounded: under a flood the oldest unwritten ones are lost, never a request
// delayed.
type traceRing struct {
	mu      sync.Mutex     // guards what follows
	pending []memory.Trace // in a ring
	oldest  int            // where it starts
	writing []memory.Trace // taken, and not yet in the store, oldest first
}

func newTraceRing() *traceRing { return &traceRing{} }

func (r *traceRing) add(t memory.Trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) < tracesPending {
		r.pending = append(r.pending, t)
		return
	}
	r.pending[r.oldest] = t
	r.oldest = (r.oldest + 1) % tracesPending
}

func (r *traceRing) find(owner memory.Owner, id string) (memory.Trace, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, traces := range [][]memory.Trace{r.pending[:r.oldest], r.pending[r.oldest:], r.writing} {
		for _, t := range slices.Backward(traces) {
			if t.ID == id && t.Owner == owner {
				return t, true
			}
		}
	}
	return memory.Trace{}, false
}

// take returns what is to be written; it can still be found until it is done.
func (r *traceRing) take() []memory.Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writing = slices.Concat(r.pending[r.oldest:], r.pending[:r.oldest])
	clear(r.pending)
	r.pending, r.oldest = r.pending[:0], 0
	return r.writing
}

func (r *traceRing) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writing = nil
}

// degrade adds to a trace what went wrong after it was made.
func (e *Engine) degrade(ctx context.Context, owner memory.Owner, id, what string) {
	if id == "" {
		return
	}
	t, err := e.Trace(ctx, owner, id)
	if err != nil {
		e.Log.Warn("a trace was lost", "trace", id, "err", err)
		return
	}
	t.Degraded = append(slices.Clone(t.Degraded), what)
	e.traces.add(t)
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
	defer e.traces.done()
	for batch := range slices.Chunk(e.traces.take(), tracesAtOnce) {
		if err := e.Store.SaveTraces(ctx, tracesKept, batch...); err != nil {
			e.Log.Warn("traces were not written", "count", len(batch), "err", err)
		}
	}
}
