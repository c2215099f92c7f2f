// Package traces stores traces of recalls and answers. It collects them in memory, and writes them to the
// store in the background.
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
	MaxStoredTraces   = 1000        // stored traces per owner
	MaxUnwritten      = 500         // traces in memory: 10 MB at 20 kB each
	traceInterval     = time.Second // time between writes
	maxTracesPerWrite = 64          // traces per write, so that other writers do not wait for long
)

// Keeper collects the traces of recalls and answers, writes them in the background, and erases them. If
// there are too many unwritten traces, it drops the oldest.
type Keeper struct {
	*core.Core

	writeLock sync.Mutex // held while traces are written or erased

	mu           sync.Mutex      // guards the following fields
	unwritten    []*memory.Trace // oldest first
	erasureCount int             // number of erasures, by which Amend detects an erasure
}

// New returns an empty keeper.
func New(c *core.Core) *Keeper { return &Keeper{Core: c} }

// Add adds a trace to the unwritten traces.
func (e *Keeper) Add(t memory.Trace) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.addLocked(t)
}

func (e *Keeper) addLocked(t memory.Trace) {
	if len(e.unwritten) == MaxUnwritten {
		e.unwritten = slices.Delete(e.unwritten, 0, 1)
	}
	e.unwritten = append(e.unwritten, &t)
}

// forgetUnwritten removes the matching unwritten traces, and returns the number of their ids.
func (e *Keeper) forgetUnwritten(match func(memory.Trace) bool) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.erasureCount++
	ids := map[string]bool{}
	e.unwritten = slices.DeleteFunc(e.unwritten, func(t *memory.Trace) bool {
		matches := match(*t)
		if matches {
			ids[t.ID] = true
		}
		return matches
	})
	return len(ids)
}

// findUnwritten returns an unwritten trace.
func (e *Keeper) findUnwritten(owner memory.Owner, id string) (memory.Trace, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range slices.Backward(e.unwritten) {
		if t.ID == id && t.Owner == owner {
			return *t, true
		}
	}
	return memory.Trace{}, false
}

// Trace returns the trace of a request.
func (e *Keeper) Trace(ctx context.Context, owner memory.Owner, id string) (memory.Trace, error) {
	if t, ok := e.findUnwritten(owner, id); ok {
		return t, nil
	}
	return e.Store.Trace(ctx, owner, id)
}

// AddFailure adds the reason of a later failure to a trace.
func (e *Keeper) AddFailure(ctx context.Context, owner memory.Owner, id, reason string) {
	e.Amend(ctx, owner, id, func(t *memory.Trace) { t.Degraded = append(slices.Clone(t.Degraded), reason) })
}

// Amend changes a trace, unless traces were erased concurrently: the trace may be among them.
func (e *Keeper) Amend(ctx context.Context, owner memory.Owner, id string, change func(*memory.Trace)) {
	if id == "" {
		return
	}
	e.mu.Lock()
	erasures := e.erasureCount
	e.mu.Unlock()
	t, err := e.Trace(ctx, owner, id)
	if err != nil {
		e.Log.Warn("a trace cannot be read, so a change of it is lost", "trace", id, "err", err)
		return
	}
	change(&t)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.erasureCount == erasures {
		e.addLocked(t)
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
			lastCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWriteTimeout)
			defer cancel()
			for lastCtx.Err() == nil && e.WriteTraces(lastCtx) {
			}
			return nil
		}
	}
}

// lastWriteTimeout bounds writing the remaining traces.
const lastWriteTimeout = 2 * time.Second

// WriteTraces writes some of the oldest traces, and reports whether there were unwritten traces. It drops
// traces of owners that are closed or cannot be checked.
func (e *Keeper) WriteTraces(ctx context.Context) (hadTraces bool) {
	e.writeLock.Lock() // excludes erasures while traces are moved to the store
	defer e.writeLock.Unlock()
	e.mu.Lock()
	oldest := slices.Clone(e.unwritten[:min(maxTracesPerWrite, len(e.unwritten))])
	e.mu.Unlock()
	var writable []memory.Trace
	for _, t := range oldest {
		if e.CheckOpen(ctx, t.Owner) == nil {
			writable = append(writable, *t)
		}
	}
	if len(writable) > 0 {
		if err := e.Store.SaveTraces(ctx, MaxStoredTraces, writable...); err != nil {
			e.Log.Warn("traces were not written", "count", len(writable), "err", err)
			if ctx.Err() != nil { // try the traces again later
				return false
			}
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unwritten = slices.DeleteFunc(e.unwritten, func(t *memory.Trace) bool { return slices.Contains(oldest, t) })
	return len(oldest) > 0
}
