// Package traces stores traces of recalls and answers (design 5). It collects them in memory, and writes
// them to the store in the background.
package traces

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// Bounds of traces.
const (
	TracesKept    = 1000        // stored traces per owner
	MostWaiting   = 500         // traces in memory: 10 MB at 20 kB each
	traceInterval = time.Second // time between writes
	tracesAtOnce  = 64          // traces per write, so that other writers do not wait for long
)

// Keeper collects the traces of recalls and answers, writes them in the background, and erases them. If
// there are too many unwritten traces, it drops the oldest.
type Keeper struct {
	*core.Core

	tracing sync.Mutex // held while traces are written or erased

	mu      sync.Mutex      // guards the following fields
	waiting []*memory.Trace // oldest first
	forgets int             // number of erasures of traces
}

// New returns an empty keeper.
func New(c *core.Core) *Keeper { return &Keeper{Core: c} }

// Add adds a trace to the unwritten traces.
func (e *Keeper) Add(t memory.Trace) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.add(t)
}

func (e *Keeper) add(t memory.Trace) {
	if len(e.waiting) == MostWaiting {
		e.waiting = slices.Delete(e.waiting, 0, 1)
	}
	e.waiting = append(e.waiting, &t)
}

// forget removes the matching unwritten traces, and returns the number of their ids.
func (e *Keeper) forget(gone func(memory.Trace) bool) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forgets++
	ids := map[string]bool{}
	e.waiting = slices.DeleteFunc(e.waiting, func(t *memory.Trace) bool {
		is := gone(*t)
		if is {
			ids[t.ID] = true
		}
		return is
	})
	return len(ids)
}

// findUnwritten returns an unwritten trace.
func (e *Keeper) find(owner memory.Owner, id string) (memory.Trace, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range slices.Backward(e.waiting) {
		if t.ID == id && t.Owner == owner {
			return *t, true
		}
	}
	return memory.Trace{}, false
}

// Trace returns the trace of a request.
func (e *Keeper) Trace(ctx context.Context, owner memory.Owner, id string) (memory.Trace, error) {
	if t, ok := e.find(owner, id); ok {
		return t, nil
	}
	return e.Store.Trace(ctx, owner, id)
}

// Degrade adds the reason of a later failure to a trace.
func (e *Keeper) Degrade(ctx context.Context, owner memory.Owner, id, what string) {
	e.Amend(ctx, owner, id, func(t *memory.Trace) { t.Degraded = append(slices.Clone(t.Degraded), what) })
}

// Amend changes a trace, unless traces were erased concurrently, possibly including this trace.
func (e *Keeper) Amend(ctx context.Context, owner memory.Owner, id string, change func(*memory.Trace)) {
	if id == "" {
		return
	}
	e.mu.Lock()
	forgets := e.forgets
	e.mu.Unlock()
	t, err := e.Trace(ctx, owner, id)
	if err != nil {
		e.Log.Warn("a trace was lost", "trace", id, "err", err)
		return
	}
	change(&t)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.forgets == forgets {
		e.add(t)
	}
}

// Run writes traces regularly until ctx ends, and then writes the remaining traces.
func (e *Keeper) Run(ctx context.Context) error {
	tick := time.NewTicker(traceInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.WriteTraces(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTraces)
			defer cancel()
			for last.Err() == nil && e.WriteTraces(last) {
			}
			return nil
		}
	}
}

// lastWriteTimeout bounds writing the remaining traces.
const lastTraces = 2 * time.Second

// WriteTraces writes some of the oldest traces, and reports whether there were unwritten traces. It drops
// traces of owners that are closed or cannot be checked.
func (e *Keeper) WriteTraces(ctx context.Context) (were bool) {
	e.tracing.Lock() // excludes erasures while traces are moved to the store
	defer e.tracing.Unlock()
	e.mu.Lock()
	oldest := slices.Clone(e.waiting[:min(tracesAtOnce, len(e.waiting))])
	e.mu.Unlock()
	var open []memory.Trace
	for _, t := range oldest {
		if e.MayWrite(ctx, t.Owner) == nil {
			open = append(open, *t)
		}
	}
	if len(open) > 0 {
		if err := e.Store.SaveTraces(ctx, TracesKept, open...); err != nil {
			e.Log.Warn("traces were not written", "count", len(open), "err", err)
			if ctx.Err() != nil { // try the traces again later
				return false
			}
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = slices.DeleteFunc(e.waiting, func(t *memory.Trace) bool { return slices.Contains(oldest, t) })
	return len(oldest) > 0
}
