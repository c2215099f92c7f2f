package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	tracesKept    = 1000        // of each owner, in the store
	traceBytes    = 4 << 20     // in memory: some 800 of 5 kB
	traceInterval = time.Second // between writes
	tracesAtOnce  = 64          // in a write, so that others do not wait for long
)

// traceRing holds traces, by the order they came in, until they are written: off
// the path of requests, a few every now and then. It is bounded. Under a flood the
// oldest are lost unwritten, never a request delayed; what an answer names can be
// found for as long as some hundred others take to come.
type traceRing struct {
	mu      sync.Mutex // guards what follows
	waiting []packedTrace
	lost    int                      // how many came before those, and are written or dropped
	bytes   int                      // of those
	packing map[string]chan struct{} // by id, of those that [traceRing.later] has begun; closed once they wait
	forgets int                      // how often some were emptied
}

// packedTrace is a trace with its memories as [tracePacker] writes them.
type packedTrace struct {
	memory.Trace
	memories []byte
}

func (t *packedTrace) size() int {
	const fixed = 300
	return fixed + cap(t.memories) + len(t.Question) + len(t.Block)
}

func newTraceRing() *traceRing { return &traceRing{packing: map[string]chan struct{}{}} }

// later returns what adds a trace beside what goes on, to be called once: who looks
// for the trace from now on waits until it did.
func (r *traceRing) later(id string, add func()) func() {
	done := make(chan struct{})
	r.mu.Lock()
	r.packing[id] = done
	r.mu.Unlock()
	return func() {
		defer close(done)
		defer func() {
			r.mu.Lock()
			delete(r.packing, id)
			r.mu.Unlock()
		}()
		add()
	}
}

// add keeps a trace. memories is copied.
func (r *traceRing) add(t memory.Trace, memories []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(t, memories)
}

// again adds a trace that was found since forgets, unless some were emptied meanwhile:
// it may be one of them.
func (r *traceRing) again(t memory.Trace, memories []byte, forgets int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forgets == forgets {
		r.keep(t, memories)
	}
}

// forgotten returns what to tell [traceRing.again] of what is found from now on.
func (r *traceRing) forgotten() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forgets
}

func (r *traceRing) keep(t memory.Trace, memories []byte) {
	var room []byte
	for len(r.waiting) > 0 && r.bytes+len(memories) > traceBytes {
		room = r.drop()
	}
	if cap(room) > 2*len(memories) {
		room = nil // of a trace of another kind
	}
	r.waiting = append(r.waiting, packedTrace{t, append(room[:0], memories...)})
	r.bytes += r.waiting[len(r.waiting)-1].size()
}

// forget empties those that wait, or are about to, and match, and returns how many there
// were, those of one id as one. They keep their place, which is counted.
func (r *traceRing) forget(gone func(packedTrace) bool) int {
	r.packed(context.Background()) // soon, and who is told that words are gone is told the truth
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgets++
	emptied := map[string]bool{}
	for i := range r.waiting {
		t := &r.waiting[i]
		if t.Owner == "" || !gone(*t) {
			continue
		}
		emptied[t.ID] = true
		r.bytes -= t.size()
		*t = packedTrace{}
		r.bytes += t.size()
	}
	return len(emptied)
}

// drop lets go of the oldest and returns the room that its memories had.
func (r *traceRing) drop() []byte {
	t := r.waiting[0]
	r.waiting[0] = packedTrace{}
	r.waiting = r.waiting[1:]
	r.lost++
	r.bytes -= t.size()
	return t.memories
}

func (r *traceRing) find(owner memory.Owner, id string) (memory.Trace, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if packing := r.packing[id]; packing != nil {
		r.mu.Unlock()
		<-packing
		r.mu.Lock()
	}
	for i := len(r.waiting) - 1; i >= 0; i-- {
		if t := &r.waiting[i]; t.ID == id && t.Owner == owner {
			return unpackTrace(t.Trace, t.memories), true
		}
	}
	return memory.Trace{}, false
}

// oldest returns the oldest n, which stay, but for those that were emptied, and what to
// tell [traceRing.written].
func (r *traceRing) oldest(n int) (traces []memory.Trace, upTo int) {
	r.mu.Lock()
	packed := slices.Clone(r.waiting[:min(n, len(r.waiting))])
	for i := range packed {
		packed[i].memories = slices.Clone(packed[i].memories)
	}
	upTo = r.lost + len(packed)
	r.mu.Unlock()
	for _, t := range packed {
		if t.Owner != "" {
			traces = append(traces, unpackTrace(t.Trace, t.memories))
		}
	}
	return traces, upTo
}

// written lets go of traces that are in the store now, and reports whether there were
// any.
func (r *traceRing) written(upTo int) (were bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; r.lost < upTo; were = true {
		r.drop()
	}
	return were
}

// degrade adds to a trace what went wrong after it was made.
func (e *Engine) degrade(ctx context.Context, owner memory.Owner, id, what string) {
	e.amend(ctx, owner, id, func(t *memory.Trace) { t.Degraded = append(slices.Clone(t.Degraded), what) })
}

// amend changes a trace that was made.
func (e *Engine) amend(ctx context.Context, owner memory.Owner, id string, change func(*memory.Trace)) {
	if id == "" {
		return
	}
	forgets := e.traces.forgotten()
	t, err := e.Trace(ctx, owner, id)
	if err != nil {
		e.Log.Warn("a trace was lost", "trace", id, "err", err)
		return
	}
	change(&t)
	e.traces.again(t, packTrace(t), forgets)
}

// Trace returns what one request asked and was given.
func (e *Engine) Trace(ctx context.Context, owner memory.Owner, id string) (memory.Trace, error) {
	if t, ok := e.traces.find(owner, id); ok {
		return t, nil
	}
	return e.Store.Trace(ctx, owner, id)
}

// Run writes traces every now and then until ctx ends, and all that are left then.
func (e *Engine) Run(ctx context.Context) error {
	tick := time.NewTicker(traceInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.writeTraces(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTraces)
			defer cancel()
			e.traces.packed(last)
			for last.Err() == nil && e.writeTraces(last) {
			}
			return nil
		}
	}
}

// lastTraces is how long what is left may take to be written.
const lastTraces = 2 * time.Second

// ofTheOpen returns the traces of those whose memory is not closed, as far as the store
// can say: of the others nothing is kept.
func (e *Engine) ofTheOpen(ctx context.Context, traces []memory.Trace) []memory.Trace {
	return slices.DeleteFunc(traces, func(t memory.Trace) bool { return e.mayWrite(ctx, t.Owner) != nil })
}

// writeTraces writes some of the oldest traces and reports whether there were any.
func (e *Engine) writeTraces(ctx context.Context) (were bool) {
	e.tracing.Lock() // nothing is erased between reading them and writing them
	defer e.tracing.Unlock()
	traces, upTo := e.traces.oldest(tracesAtOnce)
	if traces = e.ofTheOpen(ctx, traces); len(traces) > 0 {
		if err := e.Store.SaveTraces(ctx, tracesKept, traces...); err != nil {
			e.Log.Warn("traces were not written", "count", len(traces), "err", err)
			if ctx.Err() != nil { // there may be another time
				return false
			}
		}
	}
	return e.traces.written(upTo)
}
