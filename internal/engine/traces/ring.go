package traces

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Bounds of traces.
const (
	TracesKept    = 1000        // of each owner, in the store
	TraceBytes    = 4 << 20     // in memory: some 200 of 20 kB
	traceInterval = time.Second // between writes
	tracesAtOnce  = 64          // in a write, so that others do not wait for long
)

// TraceRing holds traces, by the order they came in, until they are written: off
// the path of requests, a few every now and then. It is bounded. Under a flood the
// oldest are lost unwritten, never a request delayed; what an answer names can be
// found for as long as some hundred others take to come.
type TraceRing struct {
	mu      sync.Mutex // guards what follows
	Waiting []memory.Trace
	Lost    int                      // how many came before those, and are written or dropped
	Bytes   int                      // of those, about
	Coming  map[string]chan struct{} // by id, of those that [TraceRing.Later] has begun; closed once they wait
	forgets int                      // how often some were emptied
}

// size returns how many bytes a trace takes, about.
func size(t memory.Trace) int {
	const fixed, hit, part = 300, 120, 24
	n := fixed + len(t.Question) + len(t.Block)
	for _, hits := range [...][]memory.TraceHit{t.Hits, t.Cut} {
		for _, h := range hits {
			n += hit + len(h.ID) + len(h.Content) + part*len(h.Why)
		}
	}
	return n
}

// NewTraceRing returns an empty ring.
func NewTraceRing() *TraceRing { return &TraceRing{Coming: map[string]chan struct{}{}} }

// Later returns what adds a trace beside what goes on, to be called once: who looks
// for the trace from now on waits until it did.
func (r *TraceRing) Later(id string, add func()) func() {
	done := make(chan struct{})
	r.mu.Lock()
	r.Coming[id] = done
	r.mu.Unlock()
	return func() {
		defer close(done)
		defer func() {
			r.mu.Lock()
			delete(r.Coming, id)
			r.mu.Unlock()
		}()
		add()
	}
}

// Add keeps a trace.
func (r *TraceRing) Add(t memory.Trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(t)
}

// again adds a trace that was found since forgets, unless some were emptied meanwhile:
// it may be one of them.
func (r *TraceRing) again(t memory.Trace, forgets int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forgets == forgets {
		r.keep(t)
	}
}

// forgotten returns what to tell [TraceRing.again] of what is found from now on.
func (r *TraceRing) forgotten() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forgets
}

func (r *TraceRing) keep(t memory.Trace) {
	for len(r.Waiting) > 0 && r.Bytes+size(t) > TraceBytes {
		r.drop()
	}
	r.Waiting = append(r.Waiting, t)
	r.Bytes += size(t)
}

// forget empties those that wait, or are about to, and match, and returns how many there
// were, those of one id as one. They keep their place, which is counted.
func (r *TraceRing) forget(gone func(memory.Trace) bool) int {
	r.Settled(context.Background()) // soon, and who is told that words are gone is told the truth
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgets++
	emptied := map[string]bool{}
	for i := range r.Waiting {
		t := &r.Waiting[i]
		if t.Owner == "" || !gone(*t) {
			continue
		}
		emptied[t.ID] = true
		r.Bytes -= size(*t)
		*t = memory.Trace{}
		r.Bytes += size(*t)
	}
	return len(emptied)
}

// drop lets go of the oldest.
func (r *TraceRing) drop() {
	r.Bytes -= size(r.Waiting[0])
	r.Waiting[0] = memory.Trace{}
	r.Waiting = r.Waiting[1:]
	r.Lost++
}

// Find returns a trace that is not written yet.
func (r *TraceRing) Find(owner memory.Owner, id string) (memory.Trace, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if coming := r.Coming[id]; coming != nil {
		r.mu.Unlock()
		<-coming
		r.mu.Lock()
	}
	for i := len(r.Waiting) - 1; i >= 0; i-- {
		if t := r.Waiting[i]; t.ID == id && t.Owner == owner {
			return t, true
		}
	}
	return memory.Trace{}, false
}

// Oldest returns the oldest n, which stay, but for those that were emptied, and what to
// tell [TraceRing.Written].
func (r *TraceRing) Oldest(n int) (traces []memory.Trace, upTo int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	oldest := slices.Clone(r.Waiting[:min(n, len(r.Waiting))])
	upTo = r.Lost + len(oldest)
	return slices.DeleteFunc(oldest, func(t memory.Trace) bool { return t.Owner == "" }), upTo
}

// Written lets go of traces that are in the store now, and reports whether there were
// any.
func (r *TraceRing) Written(upTo int) (were bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; r.Lost < upTo; were = true {
		r.drop()
	}
	return were
}

// Degrade adds to a trace what went wrong after it was made.
func (e *Keeper) Degrade(ctx context.Context, owner memory.Owner, id, what string) {
	e.Amend(ctx, owner, id, func(t *memory.Trace) { t.Degraded = append(slices.Clone(t.Degraded), what) })
}

// Amend changes a trace that was made.
func (e *Keeper) Amend(ctx context.Context, owner memory.Owner, id string, change func(*memory.Trace)) {
	if id == "" {
		return
	}
	forgets := e.Ring.forgotten()
	t, err := e.Trace(ctx, owner, id)
	if err != nil {
		e.Log.Warn("a trace was lost", "trace", id, "err", err)
		return
	}
	change(&t)
	e.Ring.again(t, forgets)
}

// Trace returns what one request asked and was given.
func (e *Keeper) Trace(ctx context.Context, owner memory.Owner, id string) (memory.Trace, error) {
	if t, ok := e.Ring.Find(owner, id); ok {
		return t, nil
	}
	return e.Store.Trace(ctx, owner, id)
}

// Run writes traces every now and then until ctx ends, and all that are left then.
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
			e.Ring.Settled(last)
			for last.Err() == nil && e.WriteTraces(last) {
			}
			return nil
		}
	}
}

// lastTraces is how long what is left may take to be written.
const lastTraces = 2 * time.Second

// ofTheOpen returns the traces of those whose memory is not closed, as far as the store
// can say: of the others nothing is kept.
func (e *Keeper) ofTheOpen(ctx context.Context, traces []memory.Trace) []memory.Trace {
	return slices.DeleteFunc(traces, func(t memory.Trace) bool { return e.MayWrite(ctx, t.Owner) != nil })
}

// WriteTraces writes some of the oldest traces and reports whether there were any.
func (e *Keeper) WriteTraces(ctx context.Context) (were bool) {
	e.tracing.Lock() // nothing is erased between reading them and writing them
	defer e.tracing.Unlock()
	traces, upTo := e.Ring.Oldest(tracesAtOnce)
	if traces = e.ofTheOpen(ctx, traces); len(traces) > 0 {
		if err := e.Store.SaveTraces(ctx, TracesKept, traces...); err != nil {
			e.Log.Warn("traces were not written", "count", len(traces), "err", err)
			if ctx.Err() != nil { // there may be another time
				return false
			}
		}
	}
	return e.Ring.Written(upTo)
}
